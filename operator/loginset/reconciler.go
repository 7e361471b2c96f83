package loginset

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/loginset/render"
	"github.com/slurmtide/slurmtide/operator/loginset/status"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/upgrade"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-loginset"

// Config contains the settings of the reconciler.
type Config struct {
	// Namespaces are those in which the operator may run daemons, empty for all.
	Namespaces []string
	// Image is the image of login pods if the LoginSet names none.
	Image string
	// ClusterDomain is the DNS domain of Kubernetes; empty is "cluster.local".
	ClusterDomain string
	// AgentImage is the image of slurm-agent, which gives login pods changed keys, and AgentPullPolicy its pull
	// policy. Without an image login pods have no agent.
	AgentImage      string
	AgentPullPolicy corev1.PullPolicy
}

// Reconciler reconciles LoginSets.
type Reconciler struct {
	kube.Writer
	gate      *kube.Gate
	readAgent func(ctx context.Context, podIP string) (configagent.Status, error)
	guard     upgrade.Guard
	now       func() time.Time
	cfg       Config
}

// New returns a Reconciler. It reads objects through c, those that are not cached through uncached, the agents of
// login pods through readAgent, and the time from now.
func New(c client.Client, uncached client.Reader,
	readAgent func(ctx context.Context, podIP string) (configagent.Status, error), recorder events.EventRecorder,
	now func() time.Time, cfg Config) *Reconciler {
	w := kube.Writer{Client: c, Uncached: uncached, Owner: FieldManager, Namespaces: cfg.Namespaces}
	return &Reconciler{Writer: w, gate: kube.NewGate(c, FieldManager, now), readAgent: readAgent, now: now, cfg: cfg,
		guard: upgrade.NewGuard(w, recorder, now)}
}

// SetupWithManager registers the reconciler with the manager. It reconciles LoginSets that change, and
// those whose objects, Controllers or Accountings change.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, guard kube.Guard) error {
	ofController := kube.RequestMatching(r.Client, &v1beta1.LoginSetList{},
		func(l *v1beta1.LoginSet, c client.Object) bool { return l.Spec.ControllerRef.Name == c.GetName() })
	inNamespace := kube.RequestMatching(r.Client, &v1beta1.LoginSetList{},
		func(*v1beta1.LoginSet, client.Object) bool { return true })
	err := kube.NewDaemonController(mgr, &v1beta1.LoginSet{}, &appsv1.Deployment{}).
		Watches(&v1beta1.Controller{}, ofController, upgrade.OnChange()).
		Watches(&v1beta1.Accounting{}, inNamespace, upgrade.OnChange()).
		Complete(guard.Wrap(r))
	if err != nil {
		return fmt.Errorf("setting up the reconciler of LoginSets: %w", err)
	}
	return nil
}

// Reconcile applies the objects of one LoginSet and writes its status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	l := &v1beta1.LoginSet{}
	if live, err := r.gate.FindFreeAndLive(ctx, req.NamespacedName, l); !live {
		return kube.ResultOf(0, err)
	}
	hasChoice, err := r.hasChoice(ctx, l)
	if err == nil && hasChoice {
		err = r.updateDeletionCosts(ctx, l)
	}
	if err != nil {
		return kube.ResultOf(0, err)
	}
	decision, err := r.applyObjects(ctx, l)
	reported, err := problem.Split(err)
	if err == nil {
		err = r.patchStatus(ctx, l, reported, decision)
	}
	requeueAfter := kube.Soonest(kube.RetryDelay(reported), decision.RequeueAfter())
	if hasChoice {
		requeueAfter = kube.Soonest(requeueAfter, sessionInterval)
	}
	return kube.ResultOf(requeueAfter, err)
}

// applyObjects makes the objects of a LoginSet as they should be, but for an image that is not allowed yet. If one
// of them cannot be built, all stay as they are.
func (r *Reconciler) applyObjects(ctx context.Context, l *v1beta1.LoginSet) (*upgrade.Decision, error) {
	if err := r.CheckNamespace(l.Namespace); err != nil {
		return nil, err
	}
	in, err := r.observe(ctx, l)
	if err != nil {
		return nil, err
	}
	objects, err := render.Objects(in)
	if err != nil {
		return nil, problem.New(v1beta1.ReasonInvalidSpec, "%v", err)
	}
	decision, err := r.guard.Restrain(ctx, l, objects)
	if err != nil {
		return nil, err
	}
	if err := kube.CreateHostKeys(ctx, r.Writer, in.HostKeysMeta()); err != nil {
		return nil, err
	}
	if err := kube.ApplyAll(ctx, r.Writer, objects); err != nil {
		return nil, err
	}
	return decision, nil
}

// patchStatus writes the status if it has changed, and records an event if the release that is allowed has.
func (r *Reconciler) patchStatus(ctx context.Context, l *v1beta1.LoginSet, reported *problem.Error,
	decision *upgrade.Decision) error {
	deployment := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: l.Namespace, Name: names.LoginDeployment(l.Name)}
	found, err := r.FindOwned(ctx, key, deployment)
	if err != nil {
		return err
	}
	if !found {
		deployment = nil
	}
	wanted := status.Of(r.now(), l, deployment, reported)
	required := func(next *v1beta1.LoginSet) map[string]any {
		return map[string]any{"selector": next.Status.Selector, "replicas": next.Status.Replicas}
	}
	written, err := kube.UpdateStatus(ctx, r.Writer, l, required, func(next *v1beta1.LoginSet) {
		next.Status = wanted
		decision.Record(next, r.now())
	})
	if written {
		r.guard.RecordEvent(l, decision)
	}
	return err
}

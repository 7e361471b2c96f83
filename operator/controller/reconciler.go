package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/agentpods"
	"github.com/slurmtide/slurmtide/operator/agentstatus"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/controller/render"
	"github.com/slurmtide/slurmtide/operator/controller/status"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/releases"
	"github.com/slurmtide/slurmtide/operator/upgrade"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-controller"

// Config contains the settings of the reconciler.
type Config struct {
	// Namespaces are those in which the operator may run daemons, empty for all.
	Namespaces []string
	// Image is the image of slurmctld if the Controller names none, AgentImage that of slurm-agent,
	// AgentPullPolicy its pull policy, and ClusterDomain the DNS domain of Kubernetes.
	Image, AgentImage string
	AgentPullPolicy   corev1.PullPolicy
	ClusterDomain     string
	// UsesIPv6 is whether Services have addresses of IPv6.
	UsesIPv6 bool
}

// Reconciler reconciles Controllers.
type Reconciler struct {
	kube.Writer
	gate   *kube.Gate
	agents agentpods.Reader
	guard  upgrade.Guard
	events events.EventRecorder
	now    func() time.Time
	cfg    Config
}

// New returns a Reconciler. It reads objects through c, those that are not cached (Secrets, ConfigMaps and
// slurmctld's pods) through uncached, the agents through readAgent, and the time from now.
func New(c client.Client, uncached client.Reader,
	readAgent func(context.Context, string) (configagent.Status, error), recorder events.EventRecorder,
	now func() time.Time, cfg Config) *Reconciler {
	w := kube.Writer{Client: c, Uncached: uncached, Owner: FieldManager, Namespaces: cfg.Namespaces}
	r := &Reconciler{Writer: w, gate: kube.NewGate(c, FieldManager, now), events: recorder, now: now, cfg: cfg,
		guard:  upgrade.NewGuard(w, recorder, now),
		agents: agentpods.Reader{Writer: w, ReadAgent: readAgent, Now: now}}
	r.guard.ReadState = func(ctx context.Context, object client.Object) (releases.Release, error) {
		return r.agents.StateRelease(ctx, slurmctldOf(object))
	}
	return r
}

// slurmctldOf returns where the agents of a Controller's slurmctld are.
func slurmctldOf(c client.Object) agentpods.Daemon {
	return agentpods.Daemon{Name: "slurmctld", Namespace: c.GetNamespace(), Owner: c, Set: names.ControllerStatefulSet(c.GetName()),
		Config: names.ControllerConfigMap(c.GetName()), Pods: names.SlurmctldSelector(c.GetName())}
}

// Reconcile applies the objects of one Controller and writes its status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	c := &v1beta1.Controller{}
	if found, err := r.gate.FindFree(ctx, req.NamespacedName, c); !found {
		return kube.ResultOf(0, err)
	}
	if !c.DeletionTimestamp.IsZero() {
		waits, err := problem.Split(r.reconcileDeletion(ctx, c))
		return kube.ResultOf(kube.RetryDelay(waits), err)
	}
	if c.Spec.External {
		if err := r.guard.DeleteLookups(ctx, c); err != nil {
			return kube.ResultOf(0, err)
		}
		return kube.ResultOf(0, r.patchStatus(ctx, c, agentstatus.Observation{}, nil, nil, nil))
	}
	ignored, err := r.reconcileServiceMonitor(ctx, c)
	if err != nil {
		return kube.ResultOf(0, err)
	}
	decision, leftOut, err := r.applyObjects(ctx, c)
	reported, err := problem.Split(err)
	if err != nil {
		return kube.ResultOf(0, err)
	}
	slurmctld := slurmctldOf(c)
	slurmctld.Replicas = refs.ControllerReplicas(c)
	observed, err := r.agents.Observe(ctx, slurmctld)
	observed.Problem = reported
	observed.Object = fmt.Sprintf("controllers.slinky.slurm.net -n %s %s", c.Namespace, c.Name)
	if err == nil {
		err = r.patchStatus(ctx, c, observed, decision, leftOut, ignored)
	}
	delay := cmp.Or(kube.RetryDelay(reported), observed.RequeueAfter())
	if len(ignored) > 0 {
		delay = kube.Soonest(delay, monitorRetryInterval)
	}
	return kube.ResultOf(kube.Soonest(delay, decision.RequeueAfter()), err)
}

// applyObjects makes the objects of a Controller as they should be, but for an image that is not allowed yet. If one
// of them cannot be built, all stay as they are: a slurmctld that runs goes on.
func (r *Reconciler) applyObjects(ctx context.Context, c *v1beta1.Controller) (*upgrade.Decision, map[string]string, error) {
	if err := r.CheckNamespace(c.Namespace); err != nil {
		return nil, nil, err
	}
	if err := kube.AddFinalizer(ctx, r.Client, c, v1beta1.FinalizerSlurmctld, r.Owner); err != nil {
		return nil, nil, err
	}
	if err := r.createKeys(ctx, c); err != nil {
		return nil, nil, err
	}
	in, err := r.observe(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	objects, err := render.Objects(in)
	if err != nil {
		return nil, nil, problem.New(v1beta1.ReasonInvalidSpec, "%v", err)
	}
	if err := r.checkStateOf(ctx, c, objects); err != nil {
		return nil, nil, err
	}
	if err := r.noteState(ctx, c, objects); err != nil {
		return nil, nil, err
	}
	decision, err := r.guard.Restrain(ctx, c, objects)
	if err != nil {
		return nil, nil, err
	}
	if err := kube.ApplyAll(ctx, r.Writer, objects); err != nil {
		return nil, nil, err
	}
	if err := r.markState(ctx, c, objects); err != nil {
		return nil, nil, err
	}
	return decision, in.LeftOut, r.deleteOtherServices(ctx, c, objects)
}

// deleteOtherServices deletes the Services that the operator made for a Controller and that are not wanted
// any more, such as those of backups.
func (r *Reconciler) deleteOtherServices(ctx context.Context, c *v1beta1.Controller, wanted []podspec.KubeObject) error {
	list, from := &corev1.ServiceList{}, client.Reader(r.Client)
	if len(wanted) == 0 { // afterwards nobody looks again, and the garbage collector does not delete what the namespace owns
		from = r.Uncached
	}
	err := from.List(ctx, list, client.InNamespace(c.Namespace), client.MatchingLabels(names.SlurmctldSelector(c.Name)))
	if err != nil {
		return fmt.Errorf("listing the Services of slurmctld: %w", err)
	}
	for i := range list.Items {
		service := &list.Items[i]
		isWanted := slices.ContainsFunc(wanted, func(w podspec.KubeObject) bool {
			_, isService := w.(*corev1.Service)
			return isService && w.GetName() == service.Name
		})
		if isWanted || service.Annotations[v1beta1.AnnotationAppliedHash] == "" { // another operator's, such as the workers'
			continue
		}
		if err := r.DeleteAll(ctx, c, service); err != nil {
			return err
		}
	}
	return nil
}

// patchStatus writes the status if it has changed, and records an event if what is in force or allowed has. leftOut is why
// NodeSets are not in slurm.conf, by name. ignored are fields that could not be followed.
func (r *Reconciler) patchStatus(ctx context.Context, c *v1beta1.Controller, observed agentstatus.Observation,
	decision *upgrade.Decision, leftOut map[string]string, ignored []v1beta1.IgnoredField) error {
	var after []metav1.Condition
	written, err := kube.UpdateStatus(ctx, r.Writer, c, nil, func(next *v1beta1.Controller) {
		next.Status = status.Of(r.now(), c, observed, ignored...)
		if observed.Problem == nil { // otherwise the NodeSets may not have been read
			status.SetNodeSetsIncluded(&next.Status, leftOut, c.Generation, r.now())
		}
		decision.Record(next, r.now())
		after = next.Status.Conditions
	})
	if written {
		kube.RecordConfigApplied(r.events, c, c.Status.Conditions, after)
		r.guard.RecordEvent(c, decision)
	}
	return err
}

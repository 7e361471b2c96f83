package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-controller"

// problemRetryDelay is how soon the operator looks again for an object that it does not watch, such as
// a Secret.
const problemRetryDelay = 10 * time.Second

// settlingInterval is how often the operator asks the agents while they work on a configuration.
const settlingInterval = time.Second

// resyncInterval is how often a Controller without changes is reconciled.
const resyncInterval = 5 * time.Minute

// Config contains the settings of the reconciler.
type Config struct {
	// Image is the image of slurmctld if the Controller names none, AgentImage that of slurm-agent,
	// AgentPullPolicy its pull policy, and ClusterDomain the DNS domain of Kubernetes.
	Image, AgentImage string
	AgentPullPolicy   corev1.PullPolicy
	ClusterDomain     string
}

// Reconciler reconciles Controllers.
type Reconciler struct {
	client client.Client
	// uncached reads past the cache: Secrets, ConfigMaps and slurmctld's pods, which are not cached.
	uncached client.Reader
	// readAgent returns what the agent in the pod with an address says.
	readAgent func(ctx context.Context, podIP string) (configagent.Status, error)
	events    events.EventRecorder
	now       func() time.Time
	cfg       Config
}

// New returns a Reconciler. It reads objects through c, those that are not cached through uncached,
// the agents through readAgent, and the time from now.
func New(c client.Client, uncached client.Reader,
	readAgent func(context.Context, string) (configagent.Status, error), recorder events.EventRecorder,
	now func() time.Time, cfg Config) *Reconciler {
	return &Reconciler{client: c, uncached: uncached, readAgent: readAgent, events: recorder, now: now, cfg: cfg}
}

// Reconcile applies the objects of one Controller and writes its status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	c := &v1beta1.Controller{}
	if err := r.client.Get(ctx, req.NamespacedName, c); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !c.DeletionTimestamp.IsZero() {
		if err := r.reconcileDeletion(ctx, c); !errors.Is(err, errWaitsForNodeSets) {
			return kube.ResultOf(0, err)
		}
		return ctrl.Result{RequeueAfter: problemRetryDelay}, nil
	}
	if c.Spec.External {
		return kube.ResultOf(0, r.patchStatus(ctx, c, status.Observation{}))
	}
	if err := kube.AddFinalizer(ctx, r.client, c, v1beta1.FinalizerSlurmctld, client.FieldOwner(FieldManager)); err != nil {
		return kube.ResultOf(0, err)
	}
	observed := status.Observation{Observation: agentstatus.Observation{Daemon: "slurmctld",
		Replicas: refs.ControllerReplicas(c)}}
	err := r.applyObjects(ctx, c)
	if errors.As(err, &observed.Problem) {
		err = nil
	}
	err = errors.Join(err, r.observeSlurmctld(ctx, c, &observed))
	if err == nil {
		err = r.patchStatus(ctx, c, observed)
	}
	return kube.ResultOf(requeueAfter(observed), err)
}

// requeueAfter returns when to look again at what the operator does not watch.
func requeueAfter(observed status.Observation) time.Duration {
	switch {
	case observed.Problem != nil:
		return problemRetryDelay
	case !observed.IsSettled():
		return settlingInterval
	}
	return resyncInterval
}

// applyObjects makes the objects of a Controller as they should be. If one of them cannot be built,
// all stay as they are: a slurmctld that runs goes on.
func (r *Reconciler) applyObjects(ctx context.Context, c *v1beta1.Controller) error {
	in, err := r.observe(ctx, c)
	if err != nil {
		return err
	}
	objects, err := render.Objects(in)
	if err != nil {
		return problem.New(v1beta1.ReasonInvalidSpec, "%v", err)
	}
	for _, object := range objects {
		if err := kube.Apply(ctx, r.client, r.uncached, object, client.FieldOwner(FieldManager)); err != nil {
			return err
		}
	}
	return r.deleteOtherServices(ctx, c, objects)
}

// deleteOtherServices deletes the Services that the operator made for a Controller and that are not wanted
// any more, such as those of backups.
func (r *Reconciler) deleteOtherServices(ctx context.Context, c *v1beta1.Controller, wanted []podspec.KubeObject) error {
	list := &corev1.ServiceList{}
	err := r.client.List(ctx, list, client.InNamespace(c.Namespace), client.MatchingLabels(names.SlurmctldSelector(c.Name)))
	if err != nil {
		return fmt.Errorf("listing the Services of slurmctld: %w", err)
	}
	for i := range list.Items {
		service := &list.Items[i]
		isWanted := slices.ContainsFunc(wanted, func(w podspec.KubeObject) bool {
			_, isService := w.(*corev1.Service)
			return isService && w.GetName() == service.Name
		})
		if isWanted {
			continue
		}
		if err := kube.DeleteOwned(ctx, r.client, r.uncached, c, service); err != nil {
			return err
		}
	}
	return nil
}

// patchStatus writes the status if it has changed, and records an event if what is in force has.
func (r *Reconciler) patchStatus(ctx context.Context, c *v1beta1.Controller, observed status.Observation) error {
	next := c.DeepCopy()
	next.Status = status.Of(r.now(), c, observed)
	if apiequality.Semantic.DeepEqual(next.Status, c.Status) {
		return nil
	}
	before := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionConfigApplied)
	after := meta.FindStatusCondition(next.Status.Conditions, v1beta1.ConditionConfigApplied)
	err := kube.PatchStatus(ctx, r.client, c, next, nil, client.FieldOwner(FieldManager))
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if after == nil || before != nil && before.Message == after.Message {
		return nil
	}
	switch after.Reason {
	case v1beta1.ReasonApplied:
		r.events.Eventf(c, nil, corev1.EventTypeNormal, "ConfigApplied", "Reconfigure", "%s", after.Message)
	case v1beta1.ReasonRefused:
		r.events.Eventf(c, nil, corev1.EventTypeWarning, "ConfigRefused", "Reconfigure", "%s", after.Message)
	}
	return nil
}

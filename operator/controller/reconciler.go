package controller

import (
	"context"
	"errors"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/controller/render"
	"github.com/slurmtide/slurmtide/operator/controller/status"
	"github.com/slurmtide/slurmtide/operator/kube"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-controller"

// problemRetryDelay is how soon the operator looks again for an object that it does not watch, such as
// a Secret.
const problemRetryDelay = 10 * time.Second

// Config contains the settings of the reconciler. All are optional.
type Config struct {
	// Image is the image of slurmctld if the Controller names none, ClusterDomain the DNS domain of
	// Kubernetes.
	Image, ClusterDomain string
}

// Reconciler reconciles Controllers.
type Reconciler struct {
	client client.Client
	// uncached reads past the cache: Secrets and ConfigMaps, which are not cached.
	uncached client.Reader
	now      func() time.Time
	cfg      Config
}

// New returns a Reconciler. It reads objects through c, Secrets and ConfigMaps through uncached, and
// the time from now.
func New(c client.Client, uncached client.Reader, now func() time.Time, cfg Config) *Reconciler {
	return &Reconciler{client: c, uncached: uncached, now: now, cfg: cfg}
}

// Reconcile applies the objects of one Controller and writes its status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	c := &v1beta1.Controller{}
	if err := r.client.Get(ctx, req.NamespacedName, c); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !c.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	var problem *problemError
	var err error
	if !c.Spec.External {
		if err = r.applyObjects(ctx, c); errors.As(err, &problem) {
			err = nil
		}
	}
	var requeueAfter time.Duration
	if problem != nil {
		requeueAfter = problemRetryDelay
	}
	return kube.ResultOf(requeueAfter, errors.Join(err, r.patchStatus(ctx, c, problem)))
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
		return newProblem(v1beta1.ReasonInvalidSpec, "%v", err)
	}
	for _, object := range objects {
		err := kube.Apply(ctx, r.client, r.uncached, object, client.FieldOwner(FieldManager))
		var taken *kube.NotOwnedError
		if errors.As(err, &taken) {
			return newProblem(v1beta1.ReasonObjectTaken, "%v", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// patchStatus writes the status if it has changed.
func (r *Reconciler) patchStatus(ctx context.Context, c *v1beta1.Controller, problem *problemError) error {
	set, err := r.findStatefulSet(ctx, c)
	if err != nil {
		return err
	}
	var reported *status.Problem
	if problem != nil {
		reported = &problem.Problem
	}
	next := c.DeepCopy()
	next.Status = status.Of(r.now(), c, set, reported)
	if apiequality.Semantic.DeepEqual(next.Status, c.Status) {
		return nil
	}
	return client.IgnoreNotFound(kube.PatchStatus(ctx, r.client, c, next, nil, client.FieldOwner(FieldManager)))
}

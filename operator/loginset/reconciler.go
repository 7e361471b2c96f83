package loginset

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/loginset/render"
	"github.com/slurmtide/slurmtide/operator/loginset/status"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-loginset"

// problemRetryDelay is how soon the operator tries again what somebody else has to mend.
const problemRetryDelay = 10 * time.Second

// Config contains the settings of the reconciler.
type Config struct {
	// Image is the image of login pods if the LoginSet names none.
	Image string
	// ClusterDomain is the DNS domain of Kubernetes; empty is "cluster.local".
	ClusterDomain string
}

// Reconciler reconciles LoginSets.
type Reconciler struct {
	client client.Client
	// uncached reads past the cache.
	uncached client.Reader
	now      func() time.Time
	cfg      Config
}

// New returns a Reconciler. It reads objects through c, those that are not cached through uncached, and
// the time from now.
func New(c client.Client, uncached client.Reader, now func() time.Time, cfg Config) *Reconciler {
	return &Reconciler{client: c, uncached: uncached, now: now, cfg: cfg}
}

// SetupWithManager registers the reconciler with the manager. It reconciles LoginSets that change, and
// those whose objects or Controllers change.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	changed := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	err := ctrl.NewControllerManagedBy(mgr).Named("loginset").
		For(&v1beta1.LoginSet{}, changed).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Watches(&v1beta1.Controller{}, handler.EnqueueRequestsFromMapFunc(r.requestsForController), changed).
		WithOptions(controller.Options{
			EnableWarmup:   new(true), // a new leader starts with filled caches
			LogConstructor: kube.NewLogConstructor(mgr.GetLogger(), "loginset", "loginset"),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the reconciler of LoginSets: %w", err)
	}
	return nil
}

// requestsForController returns the LoginSets of a Controller.
func (r *Reconciler) requestsForController(ctx context.Context, obj client.Object) []reconcile.Request {
	list := &v1beta1.LoginSetList{}
	if err := r.client.List(ctx, list, client.InNamespace(obj.GetNamespace())); err != nil {
		return nil // the cache is not filled yet, and everything is reconciled after that
	}
	var out []reconcile.Request
	for i := range list.Items {
		if l := &list.Items[i]; l.Spec.ControllerRef.Name == obj.GetName() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(l)})
		}
	}
	return out
}

// Reconcile applies the objects of one LoginSet and writes its status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	l := &v1beta1.LoginSet{}
	if err := r.client.Get(ctx, req.NamespacedName, l); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !l.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	var reported *problem.Error
	err := r.applyObjects(ctx, l)
	if errors.As(err, &reported) {
		err = nil
	}
	if err == nil {
		err = r.patchStatus(ctx, l, reported)
	}
	if reported != nil {
		return kube.ResultOf(problemRetryDelay, err)
	}
	return kube.ResultOf(0, err)
}

// applyObjects makes the objects of a LoginSet as they should be. If one of them cannot be built, all
// stay as they are.
func (r *Reconciler) applyObjects(ctx context.Context, l *v1beta1.LoginSet) error {
	in, err := r.observe(ctx, l)
	if err != nil {
		return err
	}
	objects, err := render.Objects(in)
	if err != nil {
		return problem.New(v1beta1.ReasonInvalidSpec, "%v", err)
	}
	if err := r.createHostKeys(ctx, in); err != nil {
		return err
	}
	for _, object := range objects {
		if err := kube.Apply(ctx, r.client, r.uncached, object, client.FieldOwner(FieldManager)); err != nil {
			return err
		}
	}
	return nil
}

// patchStatus writes the status if it has changed.
func (r *Reconciler) patchStatus(ctx context.Context, l *v1beta1.LoginSet, reported *problem.Error) error {
	deployment := &appsv1.Deployment{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: l.Namespace, Name: names.LoginDeployment(l.Name)}, deployment)
	switch {
	case apierrors.IsNotFound(err):
		deployment = nil
	case err != nil:
		return fmt.Errorf("reading the Deployment of the login pods: %w", err)
	}
	next := l.DeepCopy()
	next.Status = status.Of(r.now(), l, deployment, reported)
	if apiequality.Semantic.DeepEqual(next.Status, l.Status) {
		return nil
	}
	required := map[string]any{"selector": next.Status.Selector, "replicas": next.Status.Replicas}
	return client.IgnoreNotFound(kube.PatchStatus(ctx, r.client, l, next, required, client.FieldOwner(FieldManager)))
}

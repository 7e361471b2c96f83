package restapi

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

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/restapi/render"
	"github.com/slurmtide/slurmtide/operator/restapi/status"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-restapi"

// problemRetryDelay is how soon the operator tries again what somebody else has to mend.
const problemRetryDelay = 10 * time.Second

// Config contains the settings of the reconciler.
type Config struct {
	// Image is the image of slurmrestd if the RestApi names none.
	Image string
}

// Reconciler reconciles RestApis.
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

// SetupWithManager registers the reconciler with the manager. It reconciles RestApis that change, and
// those whose objects, Controllers or Accountings change.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	changed := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	everyRestAPI := handler.EnqueueRequestsFromMapFunc(r.requestsInNamespace)
	err := ctrl.NewControllerManagedBy(mgr).Named("restapi").
		For(&v1beta1.RestApi{}, changed).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Watches(&v1beta1.Controller{}, everyRestAPI, changed).
		Watches(&v1beta1.Accounting{}, everyRestAPI, changed).
		WithOptions(controller.Options{
			EnableWarmup:   new(true), // a new leader starts with filled caches
			LogConstructor: kube.NewLogConstructor(mgr.GetLogger(), "restapi", "restapi"),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the reconciler of RestApis: %w", err)
	}
	return nil
}

// requestsInNamespace returns the RestApis of an object's namespace.
func (r *Reconciler) requestsInNamespace(ctx context.Context, obj client.Object) []reconcile.Request {
	list := &v1beta1.RestApiList{}
	if err := r.client.List(ctx, list, client.InNamespace(obj.GetNamespace())); err != nil {
		return nil // the cache is not filled yet, and everything is reconciled after that
	}
	out := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		out[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
	}
	return out
}

// Reconcile applies the objects of one RestApi and writes its status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	api := &v1beta1.RestApi{}
	if err := r.client.Get(ctx, req.NamespacedName, api); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !api.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	var reported *problem.Error
	err := r.applyObjects(ctx, api)
	if errors.As(err, &reported) {
		err = nil
	}
	if err == nil {
		err = r.patchStatus(ctx, api, reported)
	}
	if reported != nil {
		return kube.ResultOf(problemRetryDelay, err)
	}
	return kube.ResultOf(0, err)
}

// applyObjects makes the objects of a RestApi as they should be. If one of them cannot be built, all
// stay as they are.
func (r *Reconciler) applyObjects(ctx context.Context, api *v1beta1.RestApi) error {
	in, err := r.observe(ctx, api)
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
	return nil
}

// observe reads what the objects of a RestApi are built from. A *problem.Error says what is missing.
func (r *Reconciler) observe(ctx context.Context, api *v1beta1.RestApi) (render.Input, error) {
	in := render.Input{RestAPI: api, Controller: &v1beta1.Controller{}, Image: r.cfg.Image}
	name := client.ObjectKey{Namespace: api.Namespace, Name: api.Spec.ControllerRef.Name}
	err := r.client.Get(ctx, name, in.Controller)
	if apierrors.IsNotFound(err) {
		return in, problem.New(v1beta1.ReasonReferenceNotFound, "spec.controllerRef: there is no Controller %s", name.Name)
	}
	if err != nil {
		return in, err
	}
	in.Accounting, err = access.FindSlurmdbd(ctx, r.client, in.Controller)
	return in, err
}

// patchStatus writes the status if it has changed.
func (r *Reconciler) patchStatus(ctx context.Context, api *v1beta1.RestApi, reported *problem.Error) error {
	deployment := &appsv1.Deployment{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: api.Namespace, Name: names.RestAPIDeployment(api.Name)},
		deployment)
	switch {
	case apierrors.IsNotFound(err):
		deployment = nil
	case err != nil:
		return fmt.Errorf("reading the Deployment of slurmrestd: %w", err)
	}
	next := api.DeepCopy()
	next.Status = status.Of(r.now(), api, deployment, reported)
	if apiequality.Semantic.DeepEqual(next.Status, api.Status) {
		return nil
	}
	return client.IgnoreNotFound(kube.PatchStatus(ctx, r.client, api, next, nil, client.FieldOwner(FieldManager)))
}

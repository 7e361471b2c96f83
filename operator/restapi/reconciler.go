package restapi

import (
	"cmp"
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/restapi/render"
	"github.com/slurmtide/slurmtide/operator/restapi/status"
	"github.com/slurmtide/slurmtide/operator/upgrade"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-restapi"

// Config contains the settings of the reconciler.
type Config struct {
	// Namespaces are those in which the operator may run daemons, empty for all.
	Namespaces []string
	// Image is the image of slurmrestd if the RestApi names none.
	Image string
	// AgentImage is the image of slurm-agent, which ends TLS. Without one there is no TLS.
	AgentImage string
	// UsesIPv6 is whether Services have addresses of IPv6.
	UsesIPv6 bool
}

// Reconciler reconciles RestApis.
type Reconciler struct {
	kube.Writer
	gate  *kube.Gate
	guard upgrade.Guard
	now   func() time.Time
	cfg   Config
}

// New returns a Reconciler. It reads objects through c, those that are not cached through uncached, and
// the time from now.
func New(c client.Client, uncached client.Reader, recorder events.EventRecorder, now func() time.Time,
	cfg Config) *Reconciler {
	w := kube.Writer{Client: c, Uncached: uncached, Owner: FieldManager, Namespaces: cfg.Namespaces}
	return &Reconciler{Writer: w, gate: kube.NewGate(c, FieldManager, now), now: now, cfg: cfg,
		guard: upgrade.NewGuard(w, recorder, now)}
}

// SetupWithManager registers the reconciler with the manager. It reconciles RestApis that change, and
// those whose objects, Controllers, Accountings or included files change.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, guard kube.Guard) error {
	inNamespace := kube.RequestMatching(r.Client, &v1beta1.RestApiList{},
		func(*v1beta1.RestApi, client.Object) bool { return true })
	err := kube.NewDaemonController(mgr, &v1beta1.RestApi{}, &appsv1.Deployment{}).
		Watches(&v1beta1.Controller{}, inNamespace, upgrade.OnChange()).
		Watches(&v1beta1.Accounting{}, inNamespace, upgrade.OnChange()).
		WatchesMetadata(&corev1.ConfigMap{}, kube.RequestMatching(r.Client, &v1beta1.RestApiList{}, isConfigured)).
		Complete(guard.Wrap(r))
	if err != nil {
		return fmt.Errorf("setting up the reconciler of RestApis: %w", err)
	}
	return nil
}

// isConfigured reports whether a ConfigMap is the configuration of the Controller of a RestApi, which has a copy of the files that
// are included.
func isConfigured(api *v1beta1.RestApi, changed client.Object) bool {
	labels := changed.GetLabels()
	return labels[v1beta1.LabelAppName] == v1beta1.AppSlurmctld && labels[v1beta1.LabelCluster] == api.Spec.ControllerRef.Name
}

// Reconcile applies the objects of one RestApi and writes its status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	api := &v1beta1.RestApi{}
	if live, err := r.gate.FindFreeAndLive(ctx, req.NamespacedName, api); !live {
		return kube.ResultOf(0, err)
	}
	certificateEnd, err := r.checkCertificate(ctx, api)
	var decision *upgrade.Decision
	if err == nil {
		decision, err = r.applyObjects(ctx, api)
	}
	reported, err := problem.Split(err)
	if err == nil {
		err = r.patchStatus(ctx, api, certificateEnd, reported, decision)
	}
	delay := cmp.Or(kube.RetryDelay(reported), certificateCheckDelay(api))
	return kube.ResultOf(kube.Soonest(delay, decision.RequeueAfter()), err)
}

// applyObjects makes the objects of a RestApi as they should be, but for an image that is not allowed yet. If one
// of them cannot be built, all stay as they are.
func (r *Reconciler) applyObjects(ctx context.Context, api *v1beta1.RestApi) (*upgrade.Decision, error) {
	if err := r.CheckNamespace(api.Namespace); err != nil {
		return nil, err
	}
	in, err := r.observe(ctx, api)
	if err != nil {
		return nil, err
	}
	objects, err := render.Objects(in)
	if err != nil {
		return nil, problem.New(v1beta1.ReasonInvalidSpec, "%v", err)
	}
	decision, err := r.guard.Restrain(ctx, api, objects)
	if err != nil {
		return nil, err
	}
	if err := kube.ApplyAll(ctx, r.Writer, objects); err != nil {
		return nil, err
	}
	return decision, nil
}

// observe reads what the objects of a RestApi are built from. A *problem.Error says what is missing.
func (r *Reconciler) observe(ctx context.Context, api *v1beta1.RestApi) (render.Input, error) {
	in := render.Input{RestAPI: api, Image: r.cfg.Image, AgentImage: r.cfg.AgentImage, UsesIPv6: r.cfg.UsesIPv6}
	var err error
	if in.Controller, err = access.FindController(ctx, r.Client, api.Namespace, api.Spec.ControllerRef.Name); err != nil {
		return in, err
	}
	// Slurm outside Kubernetes has addresses of its own.
	in.UsesIPv6 = in.UsesIPv6 && !in.Controller.Spec.External
	if in.Controller.Spec.SSSDConfRef != nil {
		if err = access.CheckDaemonSSSD(ctx, r.Uncached, api.Namespace, refs.ControllerSSSDConf(in.Controller)); err != nil {
			return in, err
		}
	}
	if in.Includes, err = access.ReadIncludes(ctx, r.Uncached, in.Controller); err != nil {
		return in, err
	}
	in.Accounting, err = access.FindSlurmdbd(ctx, r.Client, in.Controller)
	return in, err
}

// patchStatus writes the status if it has changed, and records an event if the release that is allowed has.
// certificateEnd is nil without TLS.
func (r *Reconciler) patchStatus(ctx context.Context, api *v1beta1.RestApi, certificateEnd *metav1.Time,
	reported *problem.Error, decision *upgrade.Decision) error {
	deployment := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: api.Namespace, Name: names.RestAPIDeployment(api.Name)}
	found, err := r.FindOwned(ctx, key, deployment)
	if err != nil {
		return err
	}
	if !found {
		deployment = nil
	}
	written, err := kube.UpdateStatus(ctx, r.Writer, api, nil, func(next *v1beta1.RestApi) {
		next.Status = status.Of(r.now(), api, deployment, reported)
		if reported == nil {
			status.SetAddress(&next.Status, api, certificateEnd)
		}
		decision.Record(next, r.now())
	})
	if written {
		r.guard.RecordEvent(api, decision)
	}
	return err
}

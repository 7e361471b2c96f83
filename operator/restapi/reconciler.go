package restapi

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/daemon"
	"github.com/slurmtide/slurmtide/operator/kube"
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
	*daemon.Reconciler[*v1beta1.RestApi]
	now func() time.Time
	cfg Config
}

// New returns a Reconciler. It reads objects through c, those that are not cached through uncached, and
// the time from now.
func New(c client.Client, uncached client.Reader, recorder events.EventRecorder, now func() time.Time,
	cfg Config) *Reconciler {
	w := kube.Writer{Client: c, Uncached: uncached, Owner: FieldManager, Namespaces: cfg.Namespaces}
	r := &Reconciler{now: now, cfg: cfg}
	r.Reconciler = daemon.New(w, recorder, now, daemon.Kind[*v1beta1.RestApi]{
		Name:      v1beta1.KindRestApi,
		NewObject: func() *v1beta1.RestApi { return &v1beta1.RestApi{} },
		NewPass: func(api *v1beta1.RestApi) daemon.Pass[*v1beta1.RestApi] {
			return &pass{Reconciler: r, api: api}
		},
		Workload: &appsv1.Deployment{},
		Watch:    r.watch,
	})
	return r
}

// watch adds the watches of the Controllers, Accountings and included files of RestApis.
func (r *Reconciler) watch(b *builder.Builder) {
	inNamespace := kube.RequestMatching(r.Client, &v1beta1.RestApiList{},
		func(*v1beta1.RestApi, client.Object) bool { return true })
	b.Watches(&v1beta1.Controller{}, inNamespace, upgrade.OnChange()).
		Watches(&v1beta1.Accounting{}, inNamespace, upgrade.OnChange()).
		WatchesMetadata(&corev1.ConfigMap{}, kube.RequestMatching(r.Client, &v1beta1.RestApiList{}, isConfigured))
}

// isConfigured reports whether a ConfigMap is the configuration of the Controller of a RestApi, which has a copy of the files that
// are included.
func isConfigured(api *v1beta1.RestApi, changed client.Object) bool {
	labels := changed.GetLabels()
	return labels[v1beta1.LabelAppName] == v1beta1.AppSlurmctld && labels[v1beta1.LabelCluster] == api.Spec.ControllerRef.Name
}

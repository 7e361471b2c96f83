package controller

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/agentpods"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/daemon"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/releases"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-controller"

// Config contains the settings of the reconciler.
type Config struct {
	// Namespaces are those in which the operator may run daemons, empty for all.
	Namespaces []string
	// Image is the image of slurmctld if the Controller names none, AgentImage the image of
	// slurm-agent, and ClusterDomain the DNS domain of Kubernetes.
	Image, AgentImage string
	ClusterDomain     string
	// UsesIPv6 is whether Services have addresses of IPv6.
	UsesIPv6 bool
}

// Reconciler reconciles Controllers.
type Reconciler struct {
	*daemon.Reconciler[*v1beta1.Controller]
	agents agentpods.Reader
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
	r := &Reconciler{events: recorder, now: now, cfg: cfg,
		agents: agentpods.Reader{Writer: w, ReadAgent: readAgent, Now: now}}
	r.Reconciler = daemon.New(w, recorder, now, daemon.Kind[*v1beta1.Controller]{
		Name:      v1beta1.KindController,
		NewObject: func() *v1beta1.Controller { return &v1beta1.Controller{} },
		NewPass: func(c *v1beta1.Controller) daemon.Pass[*v1beta1.Controller] {
			return &pass{Reconciler: r, controller: c}
		},
		Workload: &appsv1.StatefulSet{},
		Watch:    r.watch,
		ReadState: func(ctx context.Context, object client.Object) (releases.Release, error) {
			return r.agents.StateRelease(ctx, slurmctldOf(object))
		},
	})
	return r
}

// slurmctldOf returns where the agents of a Controller's slurmctld are.
func slurmctldOf(c client.Object) agentpods.Daemon {
	return agentpods.Daemon{Name: "slurmctld", Namespace: c.GetNamespace(), Owner: c, Set: names.ControllerStatefulSet(c.GetName()),
		Config: names.ControllerConfigMap(c.GetName()), Pods: names.SlurmctldSelector(c.GetName())}
}

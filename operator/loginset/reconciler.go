package loginset

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/daemon"
	"github.com/slurmtide/slurmtide/operator/kube"
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
	// AgentImage is the image of slurm-agent, which gives login pods changed keys. Without an image login
	// pods have no agent.
	AgentImage string
}

// Reconciler reconciles LoginSets.
type Reconciler struct {
	*daemon.Reconciler[*v1beta1.LoginSet]
	readAgent func(ctx context.Context, podIP string) (configagent.Status, error)
	now       func() time.Time
	cfg       Config
}

// New returns a Reconciler. It reads objects through c, those that are not cached through uncached, the agents of
// login pods through readAgent, and the time from now.
func New(c client.Client, uncached client.Reader,
	readAgent func(ctx context.Context, podIP string) (configagent.Status, error), recorder events.EventRecorder,
	now func() time.Time, cfg Config) *Reconciler {
	w := kube.Writer{Client: c, Uncached: uncached, Owner: FieldManager, Namespaces: cfg.Namespaces}
	r := &Reconciler{readAgent: readAgent, now: now, cfg: cfg}
	r.Reconciler = daemon.New(w, recorder, now, daemon.Kind[*v1beta1.LoginSet]{
		Name:      v1beta1.KindLoginSet,
		NewObject: func() *v1beta1.LoginSet { return &v1beta1.LoginSet{} },
		NewPass: func(l *v1beta1.LoginSet) daemon.Pass[*v1beta1.LoginSet] {
			return &pass{Reconciler: r, loginSet: l}
		},
		Workload: &appsv1.Deployment{},
		Watch:    r.watch,
		RequiredStatus: func(l *v1beta1.LoginSet) map[string]any {
			return map[string]any{"selector": l.Status.Selector, "replicas": l.Status.Replicas}
		},
	})
	return r
}

// watch adds the watches of the Controllers and Accountings of LoginSets.
func (r *Reconciler) watch(b *builder.Builder) {
	ofController := kube.RequestMatching(r.Client, &v1beta1.LoginSetList{},
		func(l *v1beta1.LoginSet, c client.Object) bool { return l.Spec.ControllerRef.Name == c.GetName() })
	inNamespace := kube.RequestMatching(r.Client, &v1beta1.LoginSetList{},
		func(*v1beta1.LoginSet, client.Object) bool { return true })
	b.Watches(&v1beta1.Controller{}, ofController, upgrade.OnChange()).
		Watches(&v1beta1.Accounting{}, inNamespace, upgrade.OnChange())
}

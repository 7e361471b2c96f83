package accounting

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/agentpods"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/daemon"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/upgrade"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-accounting"

// Config contains the settings of the reconciler.
type Config struct {
	// Namespaces are those in which the operator may run daemons, empty for all.
	Namespaces []string
	// Image is the image of slurmdbd if the Accounting names none, AgentImage the image of
	// slurm-agent.
	Image, AgentImage string
	// UsesIPv6 is whether Services have addresses of IPv6.
	UsesIPv6 bool
}

// Reconciler reconciles Accountings.
type Reconciler struct {
	*daemon.Reconciler[*v1beta1.Accounting]
	agents agentpods.Reader
	events events.EventRecorder
	now    func() time.Time
	cfg    Config
}

// New returns a Reconciler. It reads objects through c, those that are not cached (Secrets, ConfigMaps and
// slurmdbd's pods) through uncached, the agents through readAgent, and the time from now.
func New(c client.Client, uncached client.Reader,
	readAgent func(context.Context, string) (configagent.Status, error), recorder events.EventRecorder,
	now func() time.Time, cfg Config) *Reconciler {
	w := kube.Writer{Client: c, Uncached: uncached, Owner: FieldManager, Namespaces: cfg.Namespaces}
	r := &Reconciler{events: recorder, now: now, cfg: cfg,
		agents: agentpods.Reader{Writer: w, ReadAgent: readAgent, Now: now}}
	r.Reconciler = daemon.New(w, recorder, now, daemon.Kind[*v1beta1.Accounting]{
		Name:      v1beta1.KindAccounting,
		NewObject: func() *v1beta1.Accounting { return &v1beta1.Accounting{} },
		NewPass: func(a *v1beta1.Accounting) daemon.Pass[*v1beta1.Accounting] {
			return &pass{Reconciler: r, accounting: a}
		},
		Workload: &appsv1.StatefulSet{},
		Watch:    r.watch,
	})
	return r
}

// watch adds the watches of the accounts of Accountings, and of other daemons in their namespaces.
func (r *Reconciler) watch(b *builder.Builder) {
	ofConfigMap := kube.RequestMatching(r.Client, &v1beta1.AccountingList{},
		func(a *v1beta1.Accounting, config client.Object) bool {
			return kube.IsForDaemon(config, v1beta1.AppSlurmdbd, a.Name) ||
				a.Spec.Accounts != nil && a.Spec.Accounts.ConfigMapRef.Name == config.GetName() ||
				a.Spec.JWKSKeyRef != nil && a.Spec.JWKSKeyRef.Name == config.GetName()
		})
	inNamespace := kube.RequestMatching(r.Client, &v1beta1.AccountingList{},
		func(*v1beta1.Accounting, client.Object) bool { return true })
	b.WatchesMetadata(&corev1.ConfigMap{}, ofConfigMap).
		Watches(&v1beta1.Controller{}, inNamespace, upgrade.OnChange()).
		Watches(&v1beta1.RestApi{}, inNamespace, upgrade.OnChange()).
		Watches(&v1beta1.LoginSet{}, inNamespace, upgrade.OnChange()).
		Watches(&v1beta1.NodeSet{}, inNamespace, upgrade.OnReleaseChange())
}

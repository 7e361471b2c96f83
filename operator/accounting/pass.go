package accounting

import (
	"cmp"
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/accounting/render"
	"github.com/slurmtide/slurmtide/operator/accounting/status"
	"github.com/slurmtide/slurmtide/operator/agentpods"
	"github.com/slurmtide/slurmtide/operator/agentstatus"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/daemon"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// pass is one reconciliation of one Accounting.
type pass struct {
	daemon.NoSteps
	*Reconciler
	accounting *v1beta1.Accounting
	// accounts are those that the database should have, nil for none, and accountsStatus is their status.
	accounts       *slurmconf.Accounts
	accountsStatus status.Accounts
	observed       agentstatus.Observation
}

// IsExternal reports whether slurmdbd runs outside of the operator's control.
func (p *pass) IsExternal() bool { return p.accounting.Spec.External }

// DeleteLeftovers deletes the objects that were made before slurmdbd ran elsewhere.
func (p *pass) DeleteLeftovers(ctx context.Context) error {
	a := p.accounting
	if !p.MayRunIn(a.Namespace) {
		return nil // nothing was made here
	}
	return p.DeleteAll(ctx, a,
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: names.AccountingStatefulSet(a.Name)}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: names.AccountingService(a.Name)}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: names.AccountingConfigMap(a.Name)}})
}

// Begin reads the accounts. A problem with them does not keep slurmdbd from running.
func (p *pass) Begin(ctx context.Context) error {
	accounts, err := p.readAccounts(ctx, p.accounting)
	p.accountsStatus.Problem, err = problem.Split(err)
	if accounts != nil {
		p.accounts, p.accountsStatus.Revision = accounts, accounts.Revision
	}
	return err
}

// BeforeObserve creates the password of the database if the Accounting asks for it.
func (p *pass) BeforeObserve(ctx context.Context) error {
	if p.accounting.Spec.StorageConfig == nil {
		return problem.New(v1beta1.ReasonInvalidSpec, "spec.storageConfig must be given: slurmdbd needs a database")
	}
	return p.createPassword(ctx, p.accounting)
}

// Observe checks that the keys exist to which the Accounting refers.
func (p *pass) Observe(ctx context.Context) error {
	a := p.accounting
	err := access.CheckKeys(ctx, p.Uncached, a.Namespace,
		access.RequiredKey{Field: "spec.slurmKeyRef", Ref: a.Spec.SlurmKeyRef},
		access.RequiredKey{Field: "spec.jwtKeyRef", Ref: render.JWTKeyRef(a)},
		access.RequiredKey{Field: "spec.storageConfig.passwordKeyRef", Ref: &a.Spec.StorageConfig.PasswordKeyRef})
	if err != nil {
		return err
	}
	return access.CheckConfigMapKey(ctx, p.Uncached, a.Namespace, "spec.jwksKeyRef", a.Spec.JWKSKeyRef)
}

// Render returns the objects of slurmdbd.
func (p *pass) Render() ([]podspec.KubeObject, error) {
	return render.Objects(render.Input{Accounting: p.accounting, Accounts: p.accounts, Image: p.cfg.Image,
		AgentImage: p.cfg.AgentImage, UsesIPv6: p.cfg.UsesIPv6})
}

// BeforeGuard checks that slurmdbd keeps its database.
func (p *pass) BeforeGuard(ctx context.Context, objects []podspec.KubeObject) error {
	return p.checkDatabaseOf(ctx, p.accounting, objects)
}

// ObserveDaemon reads the StatefulSet of slurmdbd and its agent.
func (p *pass) ObserveDaemon(ctx context.Context) error {
	a := p.accounting
	var err error
	p.observed, err = p.agents.Observe(ctx, agentpods.Daemon{Name: "slurmdbd", Namespace: a.Namespace, Owner: a, Replicas: 1,
		Set: names.AccountingStatefulSet(a.Name), Config: names.AccountingConfigMap(a.Name),
		Pods: names.SlurmdbdSelector(a.Name)})
	return err
}

// SetStatus sets the status.
func (p *pass) SetStatus(next *v1beta1.Accounting, reported *problem.Error) {
	p.observed.Problem = reported
	next.Status = status.Of(p.now(), p.accounting, p.observed, p.accountsStatus)
}

// RecordEvents records an event if the accounts in the database have changed.
func (p *pass) RecordEvents(after []metav1.Condition) {
	kube.RecordAccountsApplied(p.events, p.accounting, p.accounting.Status.Conditions, after)
}

// RequeueAfter returns when to look again at the agent, or at the problem of the accounts.
func (p *pass) RequeueAfter() time.Duration {
	return cmp.Or(kube.RetryDelay(p.accountsStatus.Problem), p.accountsStatus.RequeueAfter(p.observed))
}

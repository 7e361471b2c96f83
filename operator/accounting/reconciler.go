package accounting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/accounting/render"
	"github.com/slurmtide/slurmtide/operator/accounting/status"
	"github.com/slurmtide/slurmtide/operator/agentpods"
	"github.com/slurmtide/slurmtide/operator/agentstatus"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/operator/upgrade"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-accounting"

// Config contains the settings of the reconciler.
type Config struct {
	// Namespaces are those in which the operator may run daemons, empty for all.
	Namespaces []string
	// Image is the image of slurmdbd if the Accounting names none, AgentImage that of slurm-agent, and
	// AgentPullPolicy its pull policy.
	Image, AgentImage string
	AgentPullPolicy   corev1.PullPolicy
	// UsesIPv6 is whether Services have addresses of IPv6.
	UsesIPv6 bool
}

// Reconciler reconciles Accountings.
type Reconciler struct {
	kube.Writer
	gate   *kube.Gate
	agents agentpods.Reader
	events events.EventRecorder
	guard  upgrade.Guard
	now    func() time.Time
	cfg    Config
}

// New returns a Reconciler. It reads objects through c, those that are not cached (Secrets, ConfigMaps and
// slurmdbd's pods) through uncached, the agents through readAgent, and the time from now.
func New(c client.Client, uncached client.Reader,
	readAgent func(context.Context, string) (configagent.Status, error), recorder events.EventRecorder,
	now func() time.Time, cfg Config) *Reconciler {
	w := kube.Writer{Client: c, Uncached: uncached, Owner: FieldManager, Namespaces: cfg.Namespaces}
	return &Reconciler{Writer: w, gate: kube.NewGate(c, FieldManager, now), events: recorder, now: now, cfg: cfg,
		guard:  upgrade.NewGuard(w, recorder, now),
		agents: agentpods.Reader{Writer: w, ReadAgent: readAgent, Now: now}}
}

// Reconcile applies the objects of one Accounting and writes its status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	a := &v1beta1.Accounting{}
	if live, err := r.gate.FindFreeAndLive(ctx, req.NamespacedName, a); !live {
		return kube.ResultOf(0, err)
	}
	if a.Spec.External {
		if err := r.guard.DeleteLookups(ctx, a); err != nil {
			return kube.ResultOf(0, err)
		}
		err := r.deleteObjects(ctx, a)
		written := r.patchStatus(ctx, a, agentstatus.Observation{}, status.Accounts{}, nil)
		return kube.ResultOf(0, errors.Join(err, written))
	}
	wanted, err := r.readAccounts(ctx, a)
	accounts := status.Accounts{}
	if accounts.Problem, err = problem.Split(err); err != nil {
		return kube.ResultOf(0, err)
	}
	if wanted != nil {
		accounts.Revision = wanted.Revision
	}
	decision, err := r.applyObjects(ctx, a, wanted)
	reported, err := problem.Split(err)
	if err != nil {
		return kube.ResultOf(0, err)
	}
	observed, err := r.agents.Observe(ctx, agentpods.Daemon{Name: "slurmdbd", Namespace: a.Namespace, Owner: a, Replicas: 1,
		Set: names.AccountingStatefulSet(a.Name), Config: names.AccountingConfigMap(a.Name),
		Pods: names.SlurmdbdSelector(a.Name)})
	observed.Problem = reported
	if err == nil {
		err = r.patchStatus(ctx, a, observed, accounts, decision)
	}
	delay := cmp.Or(kube.RetryDelay(cmp.Or(reported, accounts.Problem)), accounts.RequeueAfter(observed))
	return kube.ResultOf(kube.Soonest(delay, decision.RequeueAfter()), err)
}

// applyObjects makes the objects of an Accounting as they should be, with accounts or nil, but for an image that is
// not allowed yet. If one of them cannot be built, all stay as they are: a slurmdbd that runs goes on.
func (r *Reconciler) applyObjects(ctx context.Context, a *v1beta1.Accounting, accounts *slurmconf.Accounts) (
	*upgrade.Decision, error) {
	if err := r.CheckNamespace(a.Namespace); err != nil {
		return nil, err
	}
	if a.Spec.StorageConfig == nil {
		return nil, problem.New(v1beta1.ReasonInvalidSpec, "spec.storageConfig must be given: slurmdbd needs a database")
	}
	if err := r.createPassword(ctx, a); err != nil {
		return nil, err
	}
	err := access.CheckKeys(ctx, r.Uncached, a.Namespace,
		access.RequiredKey{Field: "spec.slurmKeyRef", Ref: a.Spec.SlurmKeyRef},
		access.RequiredKey{Field: "spec.jwtKeyRef", Ref: render.JWTKeyRef(a)},
		access.RequiredKey{Field: "spec.storageConfig.passwordKeyRef", Ref: &a.Spec.StorageConfig.PasswordKeyRef})
	if err != nil {
		return nil, err
	}
	err = access.CheckConfigMapKey(ctx, r.Uncached, a.Namespace, "spec.jwksKeyRef", a.Spec.JWKSKeyRef)
	if err != nil {
		return nil, err
	}
	objects, err := render.Objects(render.Input{Accounting: a, Accounts: accounts, Image: r.cfg.Image,
		AgentImage: r.cfg.AgentImage, AgentPullPolicy: r.cfg.AgentPullPolicy, UsesIPv6: r.cfg.UsesIPv6})
	if err != nil {
		return nil, problem.New(v1beta1.ReasonInvalidSpec, "%v", err)
	}
	if err := r.checkDatabaseOf(ctx, a, objects); err != nil {
		return nil, err
	}
	decision, err := r.guard.Restrain(ctx, a, objects)
	if err != nil {
		return nil, err
	}
	if err := kube.ApplyAll(ctx, r.Writer, objects); err != nil {
		return nil, err
	}
	return decision, nil
}

// deleteObjects deletes what was made for an Accounting before slurmdbd ran elsewhere.
func (r *Reconciler) deleteObjects(ctx context.Context, a *v1beta1.Accounting) error {
	if !r.MayRunIn(a.Namespace) {
		return nil // there are none
	}
	return r.DeleteAll(ctx, a,
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: names.AccountingStatefulSet(a.Name)}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: names.AccountingService(a.Name)}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: names.AccountingConfigMap(a.Name)}})
}

// patchStatus writes the status if it has changed, and records an event if what is in the database has, or the release
// that is allowed.
func (r *Reconciler) patchStatus(ctx context.Context, a *v1beta1.Accounting, observed agentstatus.Observation,
	accounts status.Accounts, decision *upgrade.Decision) error {
	var after []metav1.Condition
	written, err := kube.UpdateStatus(ctx, r.Writer, a, nil, func(next *v1beta1.Accounting) {
		next.Status = status.Of(r.now(), a, observed, accounts)
		decision.Record(next, r.now())
		after = next.Status.Conditions
	})
	if written {
		kube.RecordAccountsApplied(r.events, a, a.Status.Conditions, after)
		r.guard.RecordEvent(a, decision)
	}
	return err
}

// SetupWithManager registers the reconciler with the manager. It reconciles Accountings that change, and
// those whose objects or accounts change, or other daemons in their namespace.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, guard kube.Guard) error {
	ofConfigMap := kube.RequestMatching(r.Client, &v1beta1.AccountingList{},
		func(a *v1beta1.Accounting, config client.Object) bool {
			return kube.IsForDaemon(config, v1beta1.AppSlurmdbd, a.Name) ||
				a.Spec.Accounts != nil && a.Spec.Accounts.ConfigMapRef.Name == config.GetName() ||
				a.Spec.JWKSKeyRef != nil && a.Spec.JWKSKeyRef.Name == config.GetName()
		})
	inNamespace := kube.RequestMatching(r.Client, &v1beta1.AccountingList{},
		func(*v1beta1.Accounting, client.Object) bool { return true })
	err := kube.NewDaemonController(mgr, &v1beta1.Accounting{}, &appsv1.StatefulSet{}).
		WatchesMetadata(&corev1.ConfigMap{}, ofConfigMap).
		Watches(&v1beta1.Controller{}, inNamespace, upgrade.OnChange()).
		Watches(&v1beta1.RestApi{}, inNamespace, upgrade.OnChange()).
		Watches(&v1beta1.LoginSet{}, inNamespace, upgrade.OnChange()).
		Watches(&v1beta1.NodeSet{}, inNamespace, upgrade.OnReleaseChange()).
		Complete(guard.Wrap(r))
	if err != nil {
		return fmt.Errorf("setting up the reconciler of Accountings: %w", err)
	}
	return nil
}

package accounting

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-accounting"

const (
	// problemRetryDelay is how soon the operator looks again for an object that it does not watch, such as a
	// Secret.
	problemRetryDelay = 10 * time.Second
	// settlingInterval is how often the operator asks the agent while it works on a configuration.
	settlingInterval = time.Second
	// resyncInterval is how often an Accounting without changes is reconciled.
	resyncInterval = 5 * time.Minute
)

// Config contains the settings of the reconciler.
type Config struct {
	// Image is the image of slurmdbd if the Accounting names none, AgentImage that of slurm-agent, and
	// AgentPullPolicy its pull policy.
	Image, AgentImage string
	AgentPullPolicy   corev1.PullPolicy
}

// Reconciler reconciles Accountings.
type Reconciler struct {
	client client.Client
	// uncached reads past the cache: Secrets, ConfigMaps and slurmdbd's pods, which are not cached.
	uncached client.Reader
	agents   agentpods.Reader
	now      func() time.Time
	cfg      Config
}

// New returns a Reconciler. It reads objects through c, those that are not cached through uncached, the
// agents through readAgent, and the time from now.
func New(c client.Client, uncached client.Reader,
	readAgent func(context.Context, string) (configagent.Status, error), now func() time.Time, cfg Config) *Reconciler {
	return &Reconciler{client: c, uncached: uncached, now: now, cfg: cfg, agents: agentpods.Reader{Client: c,
		Uncached: uncached, ReadAgent: readAgent, Now: now, FieldOwner: FieldManager}}
}

// Reconcile applies the objects of one Accounting and writes its status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	a := &v1beta1.Accounting{}
	if err := r.client.Get(ctx, req.NamespacedName, a); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !a.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	if a.Spec.External {
		err := r.deleteObjects(ctx, a)
		return kube.ResultOf(0, errors.Join(err, r.patchStatus(ctx, a, status.Observation{})))
	}
	observed := status.Observation{Observation: agentstatus.Observation{Daemon: "slurmdbd", Replicas: 1}}
	err := r.applyObjects(ctx, a)
	if errors.As(err, &observed.Problem) {
		err = nil
	}
	err = errors.Join(err, r.observeSlurmdbd(ctx, a, &observed))
	if err == nil {
		err = r.patchStatus(ctx, a, observed)
	}
	return kube.ResultOf(requeueAfter(observed), err)
}

// requeueAfter returns when to look again at what the operator does not watch.
func requeueAfter(observed status.Observation) time.Duration {
	switch {
	case observed.Problem != nil:
		return problemRetryDelay
	case !observed.IsSettled():
		return settlingInterval
	}
	return resyncInterval
}

// applyObjects makes the objects of an Accounting as they should be. If one of them cannot be built, all
// stay as they are: a slurmdbd that runs goes on.
func (r *Reconciler) applyObjects(ctx context.Context, a *v1beta1.Accounting) error {
	if a.Spec.StorageConfig == nil {
		return problem.New(v1beta1.ReasonInvalidSpec, "spec.storageConfig must be given: slurmdbd needs a database")
	}
	err := access.CheckKeys(ctx, r.uncached, a.Namespace,
		access.RequiredKey{Field: "spec.slurmKeyRef", Ref: a.Spec.SlurmKeyRef},
		access.RequiredKey{Field: "spec.jwtKeyRef", Ref: render.JWTKeyRef(a)},
		access.RequiredKey{Field: "spec.storageConfig.passwordKeyRef", Ref: &a.Spec.StorageConfig.PasswordKeyRef})
	if err != nil {
		return err
	}
	objects, err := render.Objects(render.Input{Accounting: a, Image: r.cfg.Image, AgentImage: r.cfg.AgentImage,
		AgentPullPolicy: r.cfg.AgentPullPolicy})
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

// deleteObjects deletes what was made for an Accounting before slurmdbd ran elsewhere.
func (r *Reconciler) deleteObjects(ctx context.Context, a *v1beta1.Accounting) error {
	for _, object := range []client.Object{
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: names.AccountingStatefulSet(a.Name)}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: names.AccountingService(a.Name)}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: names.AccountingConfigMap(a.Name)}},
	} {
		object.SetNamespace(a.Namespace)
		if err := kube.DeleteOwned(ctx, r.client, r.uncached, a, object); err != nil {
			return err
		}
	}
	return nil
}

// observeSlurmdbd reads what runs: the StatefulSet, the agent of its pod, and the revision of the
// configuration that it should have.
func (r *Reconciler) observeSlurmdbd(ctx context.Context, a *v1beta1.Accounting, into *status.Observation) error {
	set, config := &appsv1.StatefulSet{}, &corev1.ConfigMap{}
	name := names.AccountingStatefulSet(a.Name)
	switch err := r.client.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: name}, set); {
	case err == nil:
		into.Set = set
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("reading StatefulSet %s: %w", name, err)
	}
	name = names.AccountingConfigMap(a.Name)
	err := r.uncached.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: name}, config)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading ConfigMap %s: %w", name, err)
	}
	into.Revision = config.Data[slurmconf.RevisionFile]
	into.Agents, err = r.agents.Read(ctx, a.Namespace, names.SlurmdbdSelector(a.Name), into.Revision)
	return err
}

// patchStatus writes the status if it has changed.
func (r *Reconciler) patchStatus(ctx context.Context, a *v1beta1.Accounting, observed status.Observation) error {
	next := a.DeepCopy()
	next.Status = status.Of(r.now(), a, observed)
	if apiequality.Semantic.DeepEqual(next.Status, a.Status) {
		return nil
	}
	return client.IgnoreNotFound(kube.PatchStatus(ctx, r.client, a, next, nil, client.FieldOwner(FieldManager)))
}

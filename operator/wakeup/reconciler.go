package wakeup

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-wakeup"

// conflictRetryDelay is time for the caches to learn what a write met.
const conflictRetryDelay = 100 * time.Millisecond

// Config is what may differ from one operator to the next. Every field is needed;
// DefaultConfig has all.
type Config struct {
	// PollInterval is the pause between two readings of the demand of a NodeSet that
	// waits for some, or for the end of it.
	PollInterval time.Duration
	// StaleAfter is the age from which on demand counts as unknown.
	StaleAfter time.Duration
	// ReadTimeout is the time that one reading of demand may take.
	ReadTimeout time.Duration
}

// DefaultConfig returns what the program does when it is not told otherwise.
func DefaultConfig() Config {
	return Config{
		PollInterval: 5 * time.Second,
		StaleAfter:   2 * time.Minute,
		ReadTimeout:  5 * time.Second,
	}
}

// Reconciler wakes NodeSets and takes them to zero.
type Reconciler struct {
	client client.Client
	demand DemandSource
	events events.EventRecorder
	now    func() time.Time
	cfg    Config
	idle   *idleTimes
}

// New returns a reconciler. It reads NodeSets and HPAs through c, whose HPAs need the
// index that SetupWithManager makes, demand from demand, and the time from now.
func New(c client.Client, demand DemandSource, recorder events.EventRecorder, now func() time.Time, cfg Config) *Reconciler {
	return &Reconciler{client: c, demand: demand, events: recorder, now: now, cfg: cfg, idle: newIdleTimes()}
}

// Reconcile looks at one NodeSet, and wakes it or takes it to zero if that is due.
// It may be called for several NodeSets at a time.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	nodeSet := &v1beta1.NodeSet{}
	err := r.client.Get(ctx, req.NamespacedName, nodeSet)
	if apierrors.IsNotFound(err) || err == nil && !nodeSet.DeletionTimestamp.IsZero() {
		r.idle.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	seen, err := r.observe(ctx, nodeSet)
	if err != nil {
		return ctrl.Result{}, err
	}
	todo := r.cfg.plan(r.now(), seen)
	if todo.needsDemand {
		seen.demand = r.readDemand(ctx, nodeSet)
		todo = r.cfg.plan(r.now(), seen)
	}
	r.idle.set(nodeSet, todo.idle)
	err = r.apply(ctx, seen, todo)
	if apierrors.IsConflict(err) {
		// What was decided on has changed: look at what it is now.
		return ctrl.Result{RequeueAfter: conflictRetryDelay}, nil
	}
	return ctrl.Result{RequeueAfter: todo.requeueAfter}, err
}

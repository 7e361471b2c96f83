package wakeup

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-wakeup"

// Config configures a Reconciler. Every field is required; DefaultConfig sets all.
type Config struct {
	// PollInterval is the pause between two readings of the demand of a NodeSet that may have to be woken or
	// scaled to zero.
	PollInterval time.Duration
	// StaleAfter is the age at which demand becomes unknown.
	StaleAfter time.Duration
	// ScaleUpInterval is the pause between two readings for a NodeSet that must be scaled up at once.
	ScaleUpInterval time.Duration
	// ReadTimeout is the longest that one reading of demand may take.
	ReadTimeout time.Duration
}

// DefaultConfig returns the defaults of the program.
func DefaultConfig() Config {
	return Config{
		PollInterval:    5 * time.Second,
		StaleAfter:      2 * time.Minute,
		ScaleUpInterval: time.Second,
		ReadTimeout:     5 * time.Second,
	}
}

// Reconciler wakes NodeSets and scales them to zero.
type Reconciler struct {
	client client.Client
	demand DemandSource
	events events.EventRecorder
	now    func() time.Time
	cfg    Config
	idle   *idleTimes
	// histories are recorded whether the process leads or not.
	histories *scalingHistories
}

// New returns a reconciler. It reads NodeSets and HPAs through c, which must have the index of
// IndexByNodeSet, the demand from demand, and the time from now.
func New(c client.Client, demand DemandSource, recorder events.EventRecorder, now func() time.Time,
	cfg Config) *Reconciler {
	return &Reconciler{client: c, demand: demand, events: recorder, now: now, cfg: cfg, idle: newIdleTimes(),
		histories: newScalingHistories(now)}
}

// Reconcile wakes one NodeSet or scales it to zero if that is due. It may be called concurrently
// for several NodeSets.
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
	if err := kube.CheckHolder(r.now(), nodeSet); err != nil {
		return kube.ResultOf(0, err)
	}
	observed, err := r.observe(ctx, nodeSet)
	if err != nil {
		return ctrl.Result{}, err
	}
	planned := r.cfg.plan(r.now(), observed)
	if planned.needsDemand {
		observed.demand = r.readDemand(ctx, nodeSet)
		planned = r.cfg.plan(r.now(), observed)
	}
	r.idle.set(nodeSet, planned.idle)
	err = r.apply(ctx, observed, planned)
	return kube.ResultOf(planned.requeueAfter, err)
}

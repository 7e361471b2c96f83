package nodeset

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/nodeset/expectations"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/reading"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/upgrade"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-nodeset"

// preconditionRetryDelay gives the next reading time to show why a precondition failed. Each check
// of a precondition is a request to Slurm.
const preconditionRetryDelay = 5 * time.Second

// Config contains the settings of the reconciler. Every field but the images and ClusterDomain is
// required; DefaultConfig sets all of them.
type Config struct {
	// Plan contains the limits of deletions.
	Plan plan.Config
	// StaleAfter is the age at which a reading of Slurm becomes stale.
	StaleAfter time.Duration
	// Image is the default image of workers. ClusterDomain is the DNS domain of Kubernetes.
	Image, ClusterDomain string
	// AgentImage is the image of slurm-agent, which gives the workers of Controllers their keys. Without an image workers have no agent.
	AgentImage string
	// ComparesReleases is true if the operator also runs the slurmctld and slurmdbd of NodeSets: another image of
	// workers then waits for their releases. DaemonNamespaces are the namespaces where it does, empty for all.
	ComparesReleases bool
	DaemonNamespaces []string
	// PropagatedConditions are conditions of Kubernetes nodes that explain why a node was cordoned.
	PropagatedConditions []string
	// Parallel is the number of concurrent writes for one NodeSet, Concurrent the number of concurrently
	// reconciled NodeSets.
	Parallel, Concurrent int
}

// DefaultConfig returns the settings that apply without flags.
func DefaultConfig() Config {
	return Config{Plan: plan.DefaultConfig(), StaleAfter: time.Minute, Parallel: 128, Concurrent: 4}
}

// Reconciler reconciles NodeSets.
type Reconciler struct {
	client client.Client
	gate   *kube.Gate
	// uncached reads past the cache, for Secrets.
	uncached client.Reader
	// slurmClusters returns a live Slurm cluster, or nil.
	slurmClusters func(refs.ClusterKey) reading.SlurmCluster
	events        events.EventRecorder
	guard         upgrade.Guard
	now           func() time.Time
	cfg           Config
	planner       *plan.Planner
	freshness     reading.Freshness
	expectations  *expectations.Store
	claimedNames  *expectations.ClaimedNames
	metrics       *Metrics
	keyHashes     sync.Map
	// deletions are the *sync.Mutex of record deletions, by the ClusterKey.
	deletions sync.Map
	// hostKeysSeen maps the ObjectKey of a Secret with host keys to when it was last known to exist.
	hostKeysSeen sync.Map
}

// New returns a Reconciler. It reads objects through c, which needs the indexes that
// SetupWithManager adds, Secrets and namespaces through direct, Slurm through slurms, and the time
// from now.
func New(c client.Client, direct client.Reader, slurms func(refs.ClusterKey) reading.SlurmCluster,
	recorder events.EventRecorder, metrics *Metrics, now func() time.Time, cfg Config) *Reconciler {
	return &Reconciler{
		guard: upgrade.NewGuard(kube.Writer{Client: c, Uncached: direct, Owner: FieldManager,
			Namespaces: cfg.DaemonNamespaces}, recorder, now),
		client: c, gate: kube.NewGate(c, FieldManager, now), uncached: direct, slurmClusters: slurms, events: recorder, now: now, cfg: cfg,
		planner: plan.New(cfg.Plan), freshness: reading.Freshness{StaleAfter: cfg.StaleAfter},
		expectations: expectations.New(), claimedNames: expectations.NewClaimedNames(),
		metrics: metrics,
	}
}

// Reconcile reconciles one NodeSet. It is safe for concurrent use for different NodeSets, but not
// for the same one.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	nodeSet := &v1beta1.NodeSet{}
	if found, err := r.gate.Enter(ctx, req.NamespacedName, nodeSet); !found {
		if err == nil {
			r.expectations.ForgetNodeSet(req.NamespacedName)
			r.metrics.forgetNodeSet(req.NamespacedName)
		}
		return kube.ResultOf(0, err)
	}
	if nodeSet.DeletionTimestamp != nil && !kube.HasFinalizer(nodeSet, v1beta1.FinalizerDrain) {
		return ctrl.Result{}, nil
	}
	begin := time.Now()
	now := r.now()
	observed, err := r.observe(ctx, now, nodeSet)
	if err == nil {
		err = r.restrainImage(ctx, observed)
	}
	if err == nil {
		err = r.observeDemand(ctx, now, observed)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	actions := r.planner.Plan(r.now(), observed.desired, observed.planObservation())
	if len(actions.Taken) > 0 {
		observed.expectations.TakenAt = r.now()
	}
	if actions.Displaced {
		observed.expectations.DisplacedAt = r.now()
	}
	ctx = slurmclient.WithCluster(ctx, cmp.Or(observed.desired.ClusterName, observed.slurm.ClusterName))
	observed.rememberSurplus(actions.Surplus, r.now())
	observed.expectations.ObserveNanos.Store(int64(time.Since(begin)))
	r.metrics.setWaiting(observed, &actions)
	err = errors.Join(r.apply(ctx, observed, &actions), r.applyReservation(ctx, observed, actions.Reservation),
		r.applyCordons(ctx, observed, actions.Cordons), r.recordCluster(ctx, observed, actions.SlurmCluster),
		r.restoreClaims(ctx, observed), r.applyClaims(ctx, observed, actions.Claims), r.patchStatus(ctx, observed, &actions),
		r.patchPodConditions(ctx, observed, &actions))
	if err == nil && actions.DeletionDone {
		err = r.releaseSharedObjects(ctx, observed)
	}
	if err == nil && actions.DeletionDone {
		err = kube.RemoveFinalizer(ctx, r.client, nodeSet, v1beta1.FinalizerDrain, client.FieldOwner(FieldManager))
	}
	return resultOf(shorterDelay(shorterDelay(actions.RequeueAfter, observed.requeue),
		untilScheduledUpdate(r.now(), nodeSet)), err)
}

// untilScheduledUpdate returns the time until a scheduled update begins, or 0.
func untilScheduledUpdate(now time.Time, n *v1beta1.NodeSet) time.Duration {
	if u := n.Spec.UpdateStrategy.ScheduledUpdate; n.Spec.UpdateStrategy.Type == v1beta1.UpdateScheduled && u != nil &&
		u.StartTime != nil {
		return max(0, u.StartTime.Sub(now))
	}
	return 0
}

// shorterDelay returns the shorter of two delays; 0 means no delay.
func shorterDelay(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// resultOf turns errors that report only a change of the observed objects into a requeue.
func resultOf(again time.Duration, err error) (ctrl.Result, error) {
	if err == nil {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	switch {
	case !isOnlyChange(err):
		return ctrl.Result{}, err
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: kube.ConflictRetryDelay}, nil
	}
	return ctrl.Result{RequeueAfter: preconditionRetryDelay}, nil
}

// isOnlyChange reports whether each of the joined errors is caused by a change of an observed object.
func isOnlyChange(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if !isOnlyChange(e) {
				return false
			}
		}
		return true
	}
	return apierrors.IsConflict(err) || errors.Is(err, errNotAsSeen)
}

// Remembers reports whether the process keeps anything in memory of a NodeSet.
func (r *Reconciler) Remembers(name types.NamespacedName) bool { return r.expectations.Has(name) }

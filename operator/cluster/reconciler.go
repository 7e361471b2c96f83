package cluster

import (
	"context"
	"fmt"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-cluster"

// resyncInterval is how often a Cluster without changes is reconciled.
const resyncInterval = time.Minute

// Reconciler writes the status of Clusters.
type Reconciler struct {
	client  client.Client
	gate    *kube.Gate
	clients *slurmclients.Clusters
	now     func() time.Time
}

// New returns a reconciler that reports what clients have read, by the clock now.
func New(c client.Client, clients *slurmclients.Clusters, now func() time.Time) *Reconciler {
	return &Reconciler{client: c, gate: kube.NewGate(c, FieldManager, now), clients: clients, now: now}
}

// SetupWithManager makes the manager run the reconciler for every Cluster that changes or has a new
// reading.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, guard kube.Guard) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("cluster").
		For(&v1beta1.Cluster{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(r.clients.ChangeSource(requestsForKey)).
		Complete(guard.Wrap(r))
	if err != nil {
		return fmt.Errorf("setting up the reconciler of Clusters: %w", err)
	}
	return nil
}

func requestsForKey(_ context.Context, k refs.ClusterKey) []reconcile.Request {
	if k.Kind != v1beta1.KindCluster {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: k.Namespace, Name: k.Name}}}
}

// Reconcile writes the status of one Cluster if it has changed.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cluster := &v1beta1.Cluster{}
	if live, err := r.gate.EnterLive(ctx, req.NamespacedName, cluster); !live {
		return kube.ResultOf(0, err)
	}
	next := statusOf(r.now(), cluster, r.observe(req.NamespacedName))
	if apiequality.Semantic.DeepEqual(next, cluster.Status) {
		return ctrl.Result{RequeueAfter: resyncInterval}, nil
	}
	changed := cluster.DeepCopy()
	changed.Status = next
	err := kube.PatchStatus(ctx, r.client, cluster, changed, nil, client.FieldOwner(FieldManager))
	return kube.ResultOf(resyncInterval, client.IgnoreNotFound(err))
}

func (r *Reconciler) observe(name types.NamespacedName) observation {
	s := r.clients.For(refs.ClusterKey{Kind: v1beta1.KindCluster, Namespace: name.Namespace, Name: name.Name})
	if s == nil {
		return observation{}
	}
	return observation{reading: s.Reading(), err: s.Err()}
}

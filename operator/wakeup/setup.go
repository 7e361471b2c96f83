package wakeup

import (
	"context"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/scaling"
)

// NodeSetIndex is the index of HPAs by the name of the NodeSet that they scale. IndexByNodeSet adds
// it.
const NodeSetIndex = "scaledNodeSet"

// IndexByNodeSet adds the index NodeSetIndex, which listing a NodeSet's HPAs requires. It must be
// called once per manager.
func IndexByNodeSet(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &autoscalingv2.HorizontalPodAutoscaler{}, NodeSetIndex,
		NodeSetNames); err != nil {
		return fmt.Errorf("indexing horizontal pod autoscalers: %w", err)
	}
	return nil
}

// CacheOptions returns the options of the manager's cache that the reconciler needs: HPAs, which are large,
// without their managed fields.
func CacheOptions() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&autoscalingv2.HorizontalPodAutoscaler{}: {Transform: cache.TransformStripManagedFields()},
	}
}

// SetupWithManager makes the manager run the reconciler for every NodeSet whose spec or annotations
// change, and for the targets of every HPA that changes. NodeSets that wait for demand or for its
// end are reconciled again without a change. It requires IndexByNodeSet.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, guard kube.Guard) error {
	changed := predicate.Or[client.Object](predicate.GenerationChangedPredicate{},
		predicate.AnnotationChangedPredicate{})
	return ctrl.NewControllerManagedBy(mgr).
		Named("wakeup").
		For(&v1beta1.NodeSet{}, builder.WithPredicates(changed)).
		Watches(&autoscalingv2.HorizontalPodAutoscaler{}, handler.EnqueueRequestsFromMapFunc(requestsForHPA)).
		// These handlers run before the process leads, too, due to EnableWarmup.
		Watches(&v1beta1.NodeSet{}, recordEvents(r.histories.recordNodeSet, r.histories.forgetHistory)).
		Watches(&autoscalingv2.HorizontalPodAutoscaler{}, recordEvents(r.histories.recordHPA, r.histories.recordHPA)).
		// Several run concurrently, because each may wait for its demand until ReadTimeout.
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 4,
			EnableWarmup:            new(true), // a new leader starts with filled caches
			LogConstructor:          kube.NewLogConstructor(mgr.GetLogger(), "wakeup", "nodeset"),
		}).
		Complete(guard.Wrap(r))
}

// NodeSetNames returns the name of the NodeSet that an HPA scales, or nothing.
func NodeSetNames(obj client.Object) []string {
	hpa, ok := obj.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok || !scaling.TargetsNodeSet(hpa) {
		return nil
	}
	return []string{hpa.Spec.ScaleTargetRef.Name}
}

func requestsForHPA(_ context.Context, hpa client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, name := range NodeSetNames(hpa) {
		out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: hpa.GetNamespace(),
			Name: name}})
	}
	return out
}

// recordEvents returns a handler that passes objects on and requests no reconciliation. A deleted object has
// its last known state.
func recordEvents(record, recordDeleted func(client.Object)) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ queue) { record(e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) { record(e.ObjectNew) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) { recordDeleted(e.Object) },
	}
}

package nodeset

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/upgrade"
	"github.com/slurmtide/slurmtide/operator/wakeup"
)

// Names of field indexes.
const (
	// nodeSetField indexes pods and controller revisions by the name of the NodeSet that they
	// belong to.
	nodeSetField = "nodeSet"
	// clusterField indexes NodeSets by kind and name of the object whose cluster they join.
	clusterField = "joinedCluster"
)

// CacheOptions returns the options of the manager's cache that the reconciler needs: only the pods and claims of workers,
// and Kubernetes nodes without their images.
func CacheOptions() map[client.Object]cache.ByObject {
	workers := labels.SelectorFromSet(labels.Set{v1beta1.LabelAppName: v1beta1.AppSlurmd})
	return map[client.Object]cache.ByObject{
		&corev1.Pod{}:                   {Label: workers, Transform: cache.TransformStripManagedFields()},
		&corev1.PersistentVolumeClaim{}: {Label: workers},
		&corev1.Node{}:                  {Transform: withoutImages},
	}
}

// withoutImages drops large unused fields of Kubernetes nodes.
func withoutImages(obj any) (any, error) {
	if node, ok := obj.(*corev1.Node); ok {
		node.ManagedFields, node.Status.Images = nil, nil
	}
	return obj, nil
}

// SetupWithManager registers the reconciler with the manager. It reconciles a NodeSet when the NodeSet, its pods, Service,
// disruption budget, Kubernetes nodes, HPAs, Controller or Cluster change. changed delivers new readings of Slurm by the
// cluster's object; it may be nil.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, guard kube.Guard, changed source.Source) error {
	if err := AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	specs := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{},
		deletionOrFinalizersChanged())
	b := ctrl.NewControllerManagedBy(mgr).
		Named("nodeset").
		For(&v1beta1.NodeSet{}, builder.WithPredicates(specs)).
		Watches(&corev1.Pod{}, r.enqueueOwner()).
		Owns(&appsv1.ControllerRevision{}).
		Watches(&autoscalingv2.HorizontalPodAutoscaler{}, handler.EnqueueRequestsFromMapFunc(requestsOfHPA)).
		Watches(&v1beta1.Controller{}, r.enqueueJoined(v1beta1.KindController)).
		Watches(&v1beta1.Cluster{}, r.enqueueJoined(v1beta1.KindCluster)).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(r.requestsForShared)).
		Watches(&policyv1.PodDisruptionBudget{}, handler.EnqueueRequestsFromMapFunc(r.requestsForShared),
			builder.WithPredicates(specs)).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.everyNodeSet),
			builder.WithPredicates(kubeNodeChanged())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.cfg.Concurrent,
			EnableWarmup:            new(true), // a new leader starts with filled caches
			LogConstructor:          kube.NewLogConstructor(mgr.GetLogger(), "nodeset", "nodeset"),
		})
	if r.cfg.ComparesReleases {
		inNamespace := kube.RequestMatching(r.client, &v1beta1.NodeSetList{},
			func(*v1beta1.NodeSet, client.Object) bool { return true })
		b = b.Watches(&v1beta1.Accounting{}, inNamespace, upgrade.OnReleaseChange())
	}
	if changed != nil {
		b = b.WatchesRawSource(changed)
	}
	return b.Complete(guard.Wrap(r))
}

// maxPodDelay is the longest delay of a reconciliation to wait for more pods of the NodeSet to
// change.
const maxPodDelay = 500 * time.Millisecond

// enqueueOwner enqueues the NodeSet of a changed pod after the time that observing it takes. When
// thousands of pods change, reconciliations take half of the time, not all of it. A single change
// is delayed by milliseconds.
func (r *Reconciler) enqueueOwner() handler.EventHandler {
	enqueue := func(obj client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		if nodeSet := nodeSetOf(obj); nodeSet != "" {
			name := types.NamespacedName{Namespace: obj.GetNamespace(), Name: nodeSet}
			q.AddAfter(reconcile.Request{NamespacedName: name}, min(maxPodDelay, r.expectations.ObserveDuration(name)))
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent,
			q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(e.Object, q)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent,
			q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(e.ObjectNew, q)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent,
			q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(e.Object, q)
		},
	}
}

// Requests returns the NodeSets that join the cluster, for a source of readings.
func (r *Reconciler) Requests(ctx context.Context, key refs.ClusterKey) []reconcile.Request {
	list := &v1beta1.NodeSetList{}
	if err := r.client.List(ctx, list, client.InNamespace(key.Namespace),
		client.MatchingFields{clusterField: key.Kind + "/" + key.Name}); err != nil {
		return nil // the cache is not filled yet: every NodeSet is reconciled after that
	}
	return requestsOf(list)
}

func requestsOf(list *v1beta1.NodeSetList) []reconcile.Request {
	out := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		out[i].NamespacedName = types.NamespacedName{Namespace: list.Items[i].Namespace, Name: list.Items[i].Name}
	}
	return out
}

func (r *Reconciler) enqueueJoined(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		return r.Requests(ctx, refs.ClusterKey{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName()})
	})
}

// requestsForShared returns the NodeSets of the cluster whose workers' Service or budget the object
// is.
func (r *Reconciler) requestsForShared(ctx context.Context, obj client.Object) []reconcile.Request {
	cluster := obj.GetLabels()[v1beta1.LabelCluster]
	if obj.GetLabels()[v1beta1.LabelAppName] != v1beta1.AppSlurmd || cluster == "" {
		return nil
	}
	var out []reconcile.Request
	for _, kind := range []string{v1beta1.KindController, v1beta1.KindCluster} {
		out = append(out, r.Requests(ctx, refs.ClusterKey{Kind: kind, Namespace: obj.GetNamespace(),
			Name: cluster})...)
	}
	return out
}

func (r *Reconciler) everyNodeSet(ctx context.Context, _ client.Object) []reconcile.Request {
	list := &v1beta1.NodeSetList{}
	if err := r.client.List(ctx, list); err != nil {
		return nil
	}
	return requestsOf(list)
}

// AddIndexes registers the field indexes that the reconciler lists by.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	nodeSet := func(obj client.Object) []string {
		if name := nodeSetOf(obj); name != "" {
			return []string{name}
		}
		return nil
	}
	cluster := func(obj client.Object) []string {
		n, ok := obj.(*v1beta1.NodeSet)
		if !ok {
			return nil
		}
		key, ok := refs.ClusterKeyOf(n)
		if !ok {
			return nil
		}
		return []string{key.Kind + "/" + key.Name}
	}
	for _, i := range []struct {
		of    client.Object
		field string
		value client.IndexerFunc
	}{
		{&corev1.Pod{}, nodeSetField, nodeSet}, {&appsv1.ControllerRevision{}, nodeSetField, nodeSet},
		{&v1beta1.NodeSet{}, clusterField, cluster},
	} {
		if err := indexer.IndexField(ctx, i.of, i.field, i.value); err != nil {
			return fmt.Errorf("indexing %T: %w", i.of, err)
		}
	}
	return nil
}

// deletionOrFinalizersChanged passes updates that begin a deletion or change finalizers.
func deletionOrFinalizersChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !e.ObjectNew.GetDeletionTimestamp().Equal(e.ObjectOld.GetDeletionTimestamp()) ||
			!slices.Equal(e.ObjectNew.GetFinalizers(), e.ObjectOld.GetFinalizers())
	}}
}

// kubeNodeChanged passes the changes of a Kubernetes node that matter, which excludes heartbeats.
func kubeNodeChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok := e.ObjectOld.(*corev1.Node)
		is, ok2 := e.ObjectNew.(*corev1.Node)
		return !ok || !ok2 || was.Spec.Unschedulable != is.Spec.Unschedulable ||
			!slices.Equal(was.Spec.Taints, is.Spec.Taints) ||
			!maps.Equal(was.Labels, is.Labels) || !maps.Equal(was.Annotations, is.Annotations) ||
			(was.DeletionTimestamp == nil) != (is.DeletionTimestamp == nil)
	}}
}

// requestsOfHPA returns the NodeSets that an HPA scales.
func requestsOfHPA(_ context.Context, hpa client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, name := range wakeup.NodeSetNames(hpa) {
		out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: hpa.GetNamespace(),
			Name: name}})
	}
	return out
}

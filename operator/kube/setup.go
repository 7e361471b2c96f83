package kube

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Guard wraps a reconciler, such as to keep it from objects that are not the operator's. A nil Guard does nothing.
type Guard func(reconcile.Reconciler) reconcile.Reconciler

// Wrap returns the reconciler that a controller calls.
func (g Guard) Wrap(r reconcile.Reconciler) reconcile.Reconciler {
	if g == nil {
		return r
	}
	return g(r)
}

// NewDaemonController returns the builder of a controller of a kind whose objects stand for daemons of Slurm. It
// reconciles objects whose specification changes, and those of which an owned workload or Service changes.
func NewDaemonController(mgr ctrl.Manager, kind, workload client.Object) *builder.Builder {
	name := strings.ToLower(kindOf(kind))
	return ctrl.NewControllerManagedBy(mgr).Named(name).
		For(kind, OnSpecChange()).
		Owns(workload).
		Owns(&corev1.Service{}).
		WithOptions(controller.Options{
			EnableWarmup: new(true), // a new leader starts with filled caches
			// An object is reconciled by one at a time; agents that do not answer hold up their own object alone.
			MaxConcurrentReconciles: concurrentReconciles,
			LogConstructor:          NewLogConstructor(mgr.GetLogger(), name, name),
		})
}

// concurrentReconciles is how many objects of a kind are reconciled at a time.
const concurrentReconciles = 8

// OnSpecChange is the option of a watch that ignores changes of the status and of the metadata.
func OnSpecChange() builder.Predicates {
	return builder.WithPredicates(predicate.GenerationChangedPredicate{})
}

// RequestMatching returns the handler of a watch that reconciles those objects of a kind in the namespace of a
// changed object that match it. list is an empty list of the kind.
func RequestMatching[T client.Object](reader client.Reader, list client.ObjectList,
	matches func(object T, changed client.Object) bool) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, changed client.Object) []reconcile.Request {
		return findMatching(ctx, reader, list, changed, matches)
	})
}

// findMatching returns the requests of RequestMatching.
func findMatching[T client.Object](ctx context.Context, reader client.Reader, list client.ObjectList,
	changed client.Object, matches func(T, client.Object) bool) []reconcile.Request {
	found, ok := list.DeepCopyObject().(client.ObjectList)
	if !ok || reader.List(ctx, found, client.InNamespace(changed.GetNamespace())) != nil {
		return nil // the cache is not filled yet, and everything is reconciled after that
	}
	var out []reconcile.Request
	_ = meta.EachListItem(found, func(item runtime.Object) error { // the function never fails
		if object, ok := item.(T); ok && matches(object, changed) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
		}
		return nil
	})
	return out
}

// IsForDaemon reports whether an object was made by the operator for the daemon of an owner, such as
// v1beta1.AppSlurmdbd of an Accounting.
func IsForDaemon(object client.Object, app, owner string) bool {
	labels := object.GetLabels()
	return labels[v1beta1.LabelAppName] == app && labels[v1beta1.LabelAppInstance] == owner
}

package accounting

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
)

// SetupWithManager registers the reconciler with the manager. It reconciles Accountings that change, and
// those whose objects change.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	changed := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	err := ctrl.NewControllerManagedBy(mgr).Named("accounting").
		For(&v1beta1.Accounting{}, changed).
		Owns(&appsv1.StatefulSet{}).
		Owns(&corev1.Service{}).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(requestsForConfigMap)).
		WithOptions(controller.Options{
			EnableWarmup:   new(true), // a new leader starts with filled caches
			LogConstructor: kube.NewLogConstructor(mgr.GetLogger(), "accounting", "accounting"),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the reconciler of Accountings: %w", err)
	}
	return nil
}

// requestsForConfigMap returns the Accounting whose configuration a ConfigMap is.
func requestsForConfigMap(_ context.Context, obj client.Object) []reconcile.Request {
	labels := obj.GetLabels()
	if labels[v1beta1.LabelAppName] != v1beta1.AppSlurmdbd {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(),
		Name: labels[v1beta1.LabelAppInstance]}}}
}

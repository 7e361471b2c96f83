package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/controller/render"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// UncachedObjects returns the objects of which the manager's client must not keep a cache: ConfigMaps
// are many and large, so that only their metadata is watched.
func UncachedObjects() []client.Object { return []client.Object{&corev1.ConfigMap{}} }

// SetupWithManager registers the reconciler with the manager. It reconciles Controllers that change,
// and those whose objects, ConfigMaps, NodeSets, autoscalers or Accountings change.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	changed := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	err := ctrl.NewControllerManagedBy(mgr).Named("controller").
		For(&v1beta1.Controller{}, changed).
		Owns(&appsv1.StatefulSet{}).
		Owns(&corev1.Service{}).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.requestsForConfigMap)).
		Watches(&v1beta1.NodeSet{}, handler.EnqueueRequestsFromMapFunc(requestsForNodeSet)).
		Watches(&v1beta1.Accounting{}, handler.EnqueueRequestsFromMapFunc(r.requestsForAccounting), changed).
		Watches(&autoscalingv2.HorizontalPodAutoscaler{}, handler.EnqueueRequestsFromMapFunc(r.requestsForHPA), changed).
		WithOptions(ctrlcontroller.Options{
			EnableWarmup:   new(true), // a new leader starts with filled caches
			LogConstructor: kube.NewLogConstructor(mgr.GetLogger(), "controller", "controller"),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the reconciler of Controllers: %w", err)
	}
	return nil
}

// requestsForNodeSet returns the Controller that a NodeSet joins.
func requestsForNodeSet(_ context.Context, obj client.Object) []reconcile.Request {
	n, ok := obj.(*v1beta1.NodeSet)
	if !ok {
		return nil
	}
	key, _ := refs.ClusterKeyOf(n)
	if key.Kind != v1beta1.KindController {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: key.Namespace, Name: key.Name}}}
}

// requestsForConfigMap returns the Controllers whose configuration has files of a ConfigMap, or is it.
func (r *Reconciler) requestsForConfigMap(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.findControllers(ctx, obj.GetNamespace(), func(c *v1beta1.Controller) bool {
		if obj.GetLabels()[v1beta1.LabelAppName] == v1beta1.AppSlurmctld &&
			obj.GetLabels()[v1beta1.LabelCluster] == c.Name {
			return true
		}
		for _, ref := range fileRefs(c, &render.UserFiles{}) {
			for _, name := range ref.refs {
				if name.Name == obj.GetName() {
					return true
				}
			}
		}
		return false
	})
}

func (r *Reconciler) requestsForAccounting(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.findControllers(ctx, obj.GetNamespace(), func(c *v1beta1.Controller) bool {
		return c.Spec.AccountingRef != nil && c.Spec.AccountingRef.Name == obj.GetName()
	})
}

// requestsForHPA returns all Controllers of an autoscaler's namespace: its maximum is part of
// MaxNodeCount.
func (r *Reconciler) requestsForHPA(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.findControllers(ctx, obj.GetNamespace(), func(*v1beta1.Controller) bool { return true })
}

// findControllers returns the Controllers of a namespace that match.
func (r *Reconciler) findControllers(ctx context.Context, namespace string,
	matches func(*v1beta1.Controller) bool) []reconcile.Request {
	list := &v1beta1.ControllerList{}
	if err := r.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil // the cache is not filled yet, and everything is reconciled after that
	}
	var out []reconcile.Request
	for i := range list.Items {
		if c := &list.Items[i]; matches(c) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(c)})
		}
	}
	return out
}

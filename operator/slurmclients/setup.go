package slurmclients

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// SetupWithManager makes the manager run the Clusters and updates them when Controllers, Clusters
// and RestApis change.
func (c *Clusters) SetupWithManager(mgr ctrl.Manager) error {
	if err := mgr.Add(c); err != nil {
		return fmt.Errorf("adding the Slurm clients: %w", err)
	}
	changed := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	follower := &objectFollower{client: mgr.GetClient(), clients: c}
	err := ctrl.NewControllerManagedBy(mgr).Named("live-cluster").
		For(&v1beta1.Cluster{}, changed).
		Complete(reconcile.Func(follower.reconcileCluster))
	if err != nil {
		return fmt.Errorf("following Clusters: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).Named("live-controller").
		For(&v1beta1.Controller{}, changed).
		Watches(&v1beta1.RestApi{}, handler.EnqueueRequestsFromMapFunc(requestsForRestAPI), changed).
		Complete(reconcile.Func(follower.reconcileController))
	if err != nil {
		return fmt.Errorf("following Controllers: %w", err)
	}
	return nil
}

// requestsForRestAPI returns a request for the Controller that a RestApi refers to.
func requestsForRestAPI(_ context.Context, obj client.Object) []reconcile.Request {
	api, ok := obj.(*v1beta1.RestApi)
	if !ok {
		return nil
	}
	name := types.NamespacedName{Namespace: api.Namespace, Name: api.Spec.ControllerRef.Name}
	return []reconcile.Request{{NamespacedName: name}}
}

// objectFollower sets the endpoints of Clusters according to the objects.
type objectFollower struct {
	client  client.Reader
	clients *Clusters
}

func (f *objectFollower) reconcileCluster(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	k := refs.ClusterKey{Kind: v1beta1.KindCluster, Namespace: req.Namespace, Name: req.Name}
	cluster := &v1beta1.Cluster{}
	if err := f.client.Get(ctx, req.NamespacedName, cluster); err != nil {
		return reconcile.Result{}, f.removeDeleted(k, err)
	}
	f.clients.Set(k, refs.ClusterEndpoint(cluster))
	return reconcile.Result{}, nil
}

func (f *objectFollower) reconcileController(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	k := refs.ClusterKey{Kind: v1beta1.KindController, Namespace: req.Namespace, Name: req.Name}
	controller := &v1beta1.Controller{}
	if err := f.client.Get(ctx, req.NamespacedName, controller); err != nil {
		return reconcile.Result{}, f.removeDeleted(k, err)
	}
	var list v1beta1.RestApiList
	if err := f.client.List(ctx, &list, client.InNamespace(req.Namespace)); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing RestApis: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b v1beta1.RestApi) int { return strings.Compare(a.Name, b.Name) })
	var apis []*v1beta1.RestApi
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp.IsZero() {
			apis = append(apis, &list.Items[i])
		}
	}
	f.clients.Set(k, refs.ControllerEndpoint(controller, apis))
	return reconcile.Result{}, nil
}

// removeDeleted removes the cluster of an object that was not found, and returns any other error.
func (f *objectFollower) removeDeleted(k refs.ClusterKey, err error) error {
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading %s %s: %w", k.Kind, k, err)
	}
	f.clients.Remove(k)
	return nil
}

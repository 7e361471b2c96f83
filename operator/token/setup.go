package token

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// SetupWithManager makes the manager run the reconciler for every Token that changes, for
// those that a Secret that changes is of, or holds the key of, and when a token is due.
// Of Secrets the manager's cache holds the metadata only.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("token").
		For(&v1beta1.Token{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.tokensOf), builder.OnlyMetadata).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting the reconciler of Tokens up: %w", err)
	}
	return nil
}

// tokensOf are the Tokens that own a Secret, would write it, or have their key in it.
func (r *Reconciler) tokensOf(ctx context.Context, secret client.Object) []reconcile.Request {
	var list v1beta1.TokenList
	if err := r.client.List(ctx, &list, client.InNamespace(secret.GetNamespace())); err != nil {
		log.FromContext(ctx).Error(err, "listing Tokens")
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		t := &list.Items[i]
		key := keyRef(t)
		if metav1.IsControlledBy(secret, t) || secretName(t) == secret.GetName() || key != nil && key.Name == secret.GetName() {
			out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: t.Namespace, Name: t.Name}})
		}
	}
	return out
}

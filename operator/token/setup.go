package token

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
)

// SetupWithManager makes the manager run the reconciler for every Token that changes, when a token is due for renewal, and
// periodically. Secrets are not watched, because the right to watch Secrets includes the right to read all of them.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, guard kube.Guard) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("token").
		For(&v1beta1.Token{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1beta1.Controller{}, handler.EnqueueRequestsFromMapFunc(r.listTokens),
			builder.WithPredicates(predicate.Funcs{
				CreateFunc: func(event.CreateEvent) bool { return false }, // all Tokens are reconciled at the start
				DeleteFunc: func(event.DeleteEvent) bool { return false },
				UpdateFunc: func(e event.UpdateEvent) bool { return rotationStep(e.ObjectOld) != rotationStep(e.ObjectNew) },
			})).
		Complete(guard.Wrap(r))
	if err != nil {
		return fmt.Errorf("setting the reconciler of Tokens up: %w", err)
	}
	return nil
}

// rotationStep returns the progress of a rotation of the Controller's auth/jwt key, or an empty string.
func rotationStep(object client.Object) string {
	c, ok := object.(*v1beta1.Controller)
	if !ok {
		return ""
	}
	if condition := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionJWTKeysRotated); condition != nil {
		return condition.Reason
	}
	return ""
}

// listTokens returns the Tokens in the namespace of an object. If they cannot be listed, they are reconciled a minute later
// anyway.
func (r *Reconciler) listTokens(ctx context.Context, object client.Object) []reconcile.Request {
	tokens := &v1beta1.TokenList{}
	if r.client.List(ctx, tokens, client.InNamespace(object.GetNamespace())) != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range tokens.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&tokens.Items[i])})
	}
	return out
}

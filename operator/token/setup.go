package token

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// SetupWithManager makes the manager run the reconciler for every Token that changes, when a token
// is due for renewal, and periodically: Secrets are not watched, because the right to watch Secrets
// includes the right to read all of them.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("token").
		For(&v1beta1.Token{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting the reconciler of Tokens up: %w", err)
	}
	return nil
}

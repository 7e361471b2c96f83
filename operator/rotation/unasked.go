package rotation

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// finishesUnasked reports whether a rotation for which no annotation asks any more must go on: one that has begun, since
// its state is in its Secret, and one whose condition does not say that all daemons have taken the last step. Otherwise it keeps
// the owners of the Secret, and removes the condition of a rotation that never began.
func (r *Reconciler) finishesUnasked(ctx context.Context, c *v1beta1.Controller, k kind) (bool, error) {
	key := k.refs.ofController(c)
	if key == nil || c.Spec.External || !r.MayRunIn(c.Namespace) {
		return false, nil
	}
	secret, unfinished, err := k.isUnfinished(ctx, c.Namespace, *key)
	if reported, err := problem.Split(err); reported != nil || err != nil {
		return false, err // nobody waits for what is reported
	}
	last := meta.FindStatusCondition(c.Status.Conditions, k.condition)
	switch {
	case secret.live == nil && last != nil:
		return false, r.removeCondition(ctx, c, k)
	case secret.live == nil:
		return false, nil
	case unfinished, last == nil, last.Status != metav1.ConditionTrue:
		return true, nil
	}
	all, err := listSharers(ctx, r.Client, c.Namespace, key, k.refs)
	if err != nil {
		return false, err
	}
	_, err = problem.Split(r.keepOwners(ctx, secret, all))
	return false, err
}

// removeCondition removes the condition of a rotation.
func (r *Reconciler) removeCondition(ctx context.Context, c *v1beta1.Controller, k kind) error {
	_, err := kube.UpdateStatus(ctx, r.Writer, c, nil, func(next *v1beta1.Controller) {
		meta.RemoveStatusCondition(&next.Status.Conditions, k.condition)
	})
	return err
}

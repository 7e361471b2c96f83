package rotation

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// finishesUnasked reports whether a rotation without its annotation must continue. It must if it has begun, since its state is in its
// Secret, or if its condition does not report that all daemons took the last step. Otherwise finishesUnasked keeps the owners of the
// Secret and removes the condition of a rotation that never began. It returns when to look again, 0 for not at all.
func (r *Reconciler) finishesUnasked(ctx context.Context, c *v1beta1.Controller, k kind) (bool, time.Duration, error) {
	key := k.refs.ofController(c)
	if key == nil || c.Spec.External || !r.MayRunIn(c.Namespace) {
		return false, 0, nil
	}
	last := meta.FindStatusCondition(c.Status.Conditions, k.condition)
	secret, unfinished, err := k.isUnfinished(ctx, c.Namespace, *key)
	reported, err := problem.Split(err)
	switch {
	case err != nil:
		return false, 0, err
	case reported != nil && last != nil && last.Status != metav1.ConditionTrue:
		return true, 0, nil // its next step reports the problem, and looks again
	case reported != nil: // no request waits for it, but the rotation may have begun
		return false, secretInterval, nil
	}
	isOfSlurmKey := k.condition == v1beta1.ConditionKeysRotated
	isMissing := secret.live == nil || isOfSlurmKey && !secret.hasKeySet()
	switch {
	case isMissing && isOfSlurmKey && last != nil:
		return r.missesKeySet(ctx, c, k)
	case isMissing && last != nil:
		return false, 0, r.removeCondition(ctx, c, k)
	case isMissing:
		return false, 0, nil
	case unfinished, last == nil, last.Status != metav1.ConditionTrue:
		return true, 0, nil
	}
	all, err := listSharers(ctx, r.Client, c.Namespace, key, k.refs)
	if err != nil {
		return false, 0, err
	}
	_, err = problem.Split(r.keepOwners(ctx, secret, all))
	return false, secretInterval, err
}

// missesKeySet reports whether daemons have a key set whose Secret is gone. It returns when to look again if that is unknown. It
// removes the condition if all daemons have the user's key, and the condition of a rotation that could not begin.
func (r *Reconciler) missesKeySet(ctx context.Context, c *v1beta1.Controller, k kind) (bool, time.Duration, error) {
	_, _, err := r.rotateKey(ctx, c)
	reported, err := problem.Split(err)
	switch {
	case err != nil:
		return false, 0, err
	case reported != nil && reported.Reason == v1beta1.ReasonKeySetMissing:
		return true, 0, nil
	case reported != nil && hasHadKeySet(c):
		return false, secretInterval, nil
	}
	return false, 0, r.removeCondition(ctx, c, k)
}

// removeCondition removes the condition of a rotation.
func (r *Reconciler) removeCondition(ctx context.Context, c *v1beta1.Controller, k kind) error {
	_, err := kube.UpdateStatus(ctx, r.Writer, c, nil, func(next *v1beta1.Controller) {
		meta.RemoveStatusCondition(&next.Status.Conditions, k.condition)
	})
	return err
}

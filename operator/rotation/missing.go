package rotation

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
)

// secretInterval is the interval of checks that the Secret of a finished rotation still exists.
const secretInterval = time.Minute

// begunReasons are the reasons of the condition KeysRotated while a key set exists.
var begunReasons = []string{v1beta1.ReasonDistributingKey, v1beta1.ReasonSwitchingKey, v1beta1.ReasonRetiringKey,
	v1beta1.ReasonRotated, v1beta1.ReasonWaitingForHostsOutside, v1beta1.ReasonKeySetMissing, v1beta1.ReasonSecretImmutable}

// hasHadKeySet reports whether the daemons of a Controller have a key set, according to its condition.
func hasHadKeySet(c *v1beta1.Controller) bool {
	last := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionKeysRotated)
	return last != nil && slices.Contains(begunReasons, last.Reason)
}

// checkKeySetExists returns a *problem.Error if the Secret with a key set is missing, empty or damaged, while daemons have a key set,
// or may have one according to the last condition. The key of slurmKeyRef is retired then: no rotation may begin with it.
func checkKeySetExists(c *v1beta1.Controller, secret keySecret, members []plan.Member) error {
	if secret.hasKeySet() {
		return nil
	}
	had := hasHadKeySet(c)
	for _, m := range members {
		switch {
		case m.Problem == "" && !m.Loaded.IsPlain():
			return newMissingError(c, secret.name, m.Name+" has the key set "+m.Loaded.String())
		case m.Problem != "" && had:
			return newMissingError(c, secret.name, m.Name+" may have it: "+m.Problem)
		}
	}
	return nil
}

func newMissingError(c *v1beta1.Controller, secret, evidence string) error {
	return problem.New(v1beta1.ReasonKeySetMissing, "Secret %s with the key set is missing, empty or damaged, and %s. Pods that run keep the set; "+
		"those that start have the retired key of spec.slurmKeyRef, which the others refuse. Restore the Secret from a backup, or "+
		"from a pod of slurmctld (docs/controllers.md, \"A key set that was deleted\"), namespace %s", secret, evidence, c.Namespace)
}

// keepRotated keeps the condition and the owners of the Secret after a rotation, and checks later whether the Secret still exists.
func (r *Reconciler) keepRotated(ctx context.Context, condition metav1.Condition, secret keySecret, all sharers) (
	metav1.Condition, time.Duration, error) {
	return condition, secretInterval, r.keepOwners(ctx, secret.rotationSecret, all)
}

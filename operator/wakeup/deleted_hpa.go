package wakeup

import (
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/scaling"
)

// An HPA may scale a NodeSet to zero and be deleted while no operator leads. Nothing in the NodeSet then
// shows that the zero is the HPA's (zeroOriginOf). If this process has seen the HPA's report, the report
// decides. If the zero is older than the process, and the HPA was deleted before the process started, the
// previous leader's condition WakeUp decides.

// isZeroOfDeletedHPA reports whether the NodeSet has an unclaimed zero that counts as the zero of a deleted
// HPA.
func (s observation) isZeroOfDeletedHPA() bool {
	if owner := s.history.zeroOwner; owner != "" {
		return s.hasUnclaimedZero() && !slices.ContainsFunc(s.hpas, func(hpa autoscalingv2.HorizontalPodAutoscaler) bool {
			return hpa.UID == owner // it can be asked
		})
	}
	if len(s.hpas) != 1 || !s.mayBeZeroOfDeletedHPA() {
		return false
	}
	hpa := &s.hpas[0]
	return scaling.IsAsleep(hpa) &&
		hpa.Status.LastScaleTime == nil && // an HPA that scaled the NodeSet would know its own zero
		scaling.MinReplicas(hpa) == 0 // otherwise the deleted one could hardly scale to zero
}

// mayBeZeroOfDeletedHPA reports whether the NodeSet has an unclaimed zero whose beginning neither a leader
// nor this process has seen, and the HPA that scaled the NodeSet before was deleted unseen.
func (s observation) mayBeZeroOfDeletedHPA() bool {
	c := meta.FindStatusCondition(s.nodeSet.Status.Conditions, v1beta1.ConditionWakeUp)
	if c == nil || !s.hasUnclaimedZero() || s.history.hadReplicas {
		return false
	}
	switch c.Reason {
	case v1beta1.ReasonNotNeeded, v1beta1.ReasonWoken, v1beta1.ReasonTakenToZero, v1beta1.ReasonDemandUnknown:
		return c.ObservedGeneration < s.nodeSet.Generation && !s.hasSeenHPAOfCondition()
	case v1beta1.ReasonNoAutoscaler:
		return c.Status == metav1.ConditionUnknown // see planWithoutAutoscaler
	}
	return false
}

func (s observation) hasUnclaimedZero() bool {
	return scaling.SpecReplicas(s.nodeSet) == 0 && zeroOriginOf(s.nodeSet.ManagedFields) == zeroByHand
}

// hasSeenHPAOfCondition reports whether this process has seen the HPA that the condition WakeUp was written
// for. Later HPAs were created after the condition was written.
func (s observation) hasSeenHPAOfCondition() bool {
	written := lastConditionWrite(s.nodeSet.ManagedFields)
	existed := func(created time.Time) bool { return !created.After(written) }
	return written.IsZero() || // then it is unknown which
		!s.history.oldestHPA.IsZero() && existed(s.history.oldestHPA) ||
		slices.ContainsFunc(s.hpas, func(hpa autoscalingv2.HorizontalPodAutoscaler) bool {
			return existed(hpa.CreationTimestamp.Time)
		})
}

// lastConditionWrite returns when the operator last wrote the condition WakeUp, the zero time if never.
func lastConditionWrite(entries []metav1.ManagedFieldsEntry) time.Time {
	for _, e := range entries {
		if e.Manager == FieldManager && e.Subresource == "status" && e.Time != nil {
			return e.Time.Time
		}
	}
	return time.Time{}
}

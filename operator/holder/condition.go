package holder

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// SetReady reports a hold in the condition Ready of an object. Nothing changes if it is reported already.
func SetReady(now time.Time, o Object, h Hold) {
	if isReported(o, h) {
		return
	}
	conditions := o.ConditionsOf()
	condition := metav1.Condition{Status: metav1.ConditionFalse, Reason: h.Reason, Message: heldMessage(h)}
	if h.Reason == v1beta1.ReasonTakingOver {
		condition.Status, condition.Message = metav1.ConditionUnknown, trialMessage(h)
	}
	meta.RemoveStatusCondition(conditions, v1beta1.ConditionReady) // the trial is measured from its transition
	v1beta1.SetCondition(conditions, v1beta1.ConditionReady, condition, o.GetGeneration(), now)
	if n, isNodeSet := o.(*v1beta1.NodeSet); isNodeSet && h.Reason == v1beta1.ReasonTakingOver {
		n.Status.ObservedGeneration = 0 // an operator that runs writes it again
	}
}

// isReported reports whether the condition Ready already contains the hold. The times in its message are from the first
// report: with a new time for each write of the other operator, the two would answer each other's writes.
func isReported(o Object, h Hold) bool {
	ready := meta.FindStatusCondition(*o.ConditionsOf(), v1beta1.ConditionReady)
	return ready != nil && ready.Reason == h.Reason &&
		(h.Reason != v1beta1.ReasonTakingOver || isTrialSince(ready, h.WroteAt))
}

// isTrialSince reports whether a trial has begun after the last write of the other operator.
func isTrialSince(ready *metav1.Condition, wroteAt time.Time) bool {
	return ready.Reason == v1beta1.ReasonTakingOver && !ready.LastTransitionTime.Time.Before(wroteAt)
}

// heldMessage returns the remedy for an object that another operator holds.
func heldMessage(h Hold) string {
	return fmt.Sprintf("another operator (field manager %q) wrote this object at %s, so this operator changes "+
		"nothing. Remove one of the two. This one continues an hour after the last write of the other, or at once "+
		"when you set the annotation %s to the present time", h.Manager, formatTime(h.WroteAt),
		v1beta1.AnnotationTakeOver)
}

// trialMessage returns what the trial waits for.
func trialMessage(h Hold) string {
	return fmt.Sprintf("another operator (field manager %q) wrote this object until %s. This operator takes over "+
		"at %s unless the other writes again, or at once when you set the annotation %s to the present time",
		h.Manager, formatTime(h.WroteAt), formatTime(h.FreeAt), v1beta1.AnnotationTakeOver)
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

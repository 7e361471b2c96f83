// Package status computes the status of Controllers. It is pure.
//
//	False Progressing ──► True Available
//	False InvalidSpec, ReferenceNotFound, ObjectTaken: until somebody corrects them
//	Unknown External: the operator does not run this slurmctld
package status

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// Problem says why slurmctld's objects are not as the Controller wants them.
type Problem struct {
	// Reason is one of the reasons of the condition Ready.
	Reason string
	// Message contains no secret and nothing that differs between attempts.
	Message string
}

// Of returns the status of a Controller, from the last status, the StatefulSet of its slurmctlds (nil
// if there is none) and the problem (nil if there is none).
func Of(now time.Time, c *v1beta1.Controller, set *appsv1.StatefulSet, problem *Problem) v1beta1.ControllerStatus {
	out := *c.Status.DeepCopy()
	v1beta1.SetFieldsIgnored(&out.Conditions, c.Spec.IgnoredFields(), c.Generation, now)
	ready := readyCondition(c, set, problem)
	ready.Type, ready.ObservedGeneration = v1beta1.ConditionReady, c.Generation
	ready.LastTransitionTime = metav1.NewTime(now)
	meta.SetStatusCondition(&out.Conditions, ready)
	return out
}

// readyCondition returns what the condition Ready says.
func readyCondition(c *v1beta1.Controller, set *appsv1.StatefulSet, problem *Problem) metav1.Condition {
	progressing := func(message string) metav1.Condition {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: v1beta1.ReasonProgressing, Message: message}
	}
	switch {
	case c.Spec.External:
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: v1beta1.ReasonExternal,
			Message: fmt.Sprintf("the operator does not run the slurmctld at %s", refs.ControllerSlurmctld(c).Address)}
	case problem != nil:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: problem.Reason, Message: problem.Message}
	case set == nil:
		return progressing("the StatefulSet of slurmctld is being created")
	case set.Status.ObservedGeneration < set.Generation:
		return progressing(fmt.Sprintf("StatefulSet %s is being updated", set.Name))
	case set.Status.ReadyReplicas == 0:
		return progressing(fmt.Sprintf("no pod of StatefulSet %s is ready", set.Name))
	}
	message := "slurmctld is ready"
	if want := set.Spec.Replicas; want != nil && *want > 1 {
		message = fmt.Sprintf("%d of %d slurmctlds are ready", set.Status.ReadyReplicas, *want)
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: v1beta1.ReasonAvailable, Message: message}
}

// Package status computes the status of Controllers. It is pure.
//
// Ready:
//
//	False Progressing ──► True Available
//	False InvalidSpec, ReferenceNotFound, ObjectTaken: until somebody corrects them
//	Unknown External: the operator does not run this slurmctld
//
// ConfigApplied follows what the agents beside slurmctld say (package configagent).
package status

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/agentstatus"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// Observation is what the status is computed from.
type Observation struct {
	// Set is the StatefulSet of slurmctld, nil if there is none.
	Set *appsv1.StatefulSet
	// The other fields are what the agents beside slurmctld say.
	agentstatus.Observation
}

// Of returns the status of a Controller, from the last status and the observation.
func Of(now time.Time, c *v1beta1.Controller, o Observation) v1beta1.ControllerStatus {
	out := *c.Status.DeepCopy()
	v1beta1.SetFieldsIgnored(&out.Conditions, c.Spec.IgnoredFields(), c.Generation, now)
	set := func(kind string, condition metav1.Condition) {
		condition.Type, condition.ObservedGeneration = kind, c.Generation
		condition.LastTransitionTime = metav1.NewTime(now)
		meta.SetStatusCondition(&out.Conditions, condition)
	}
	set(v1beta1.ConditionReady, readyCondition(c, o))
	if c.Spec.External {
		meta.RemoveStatusCondition(&out.Conditions, v1beta1.ConditionConfigApplied)
	} else {
		set(v1beta1.ConditionConfigApplied, o.Condition())
	}
	return out
}

// readyCondition returns what the condition Ready says.
func readyCondition(c *v1beta1.Controller, o Observation) metav1.Condition {
	progressing := func(message string) metav1.Condition {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: v1beta1.ReasonProgressing, Message: message}
	}
	switch {
	case c.Spec.External:
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: v1beta1.ReasonExternal,
			Message: fmt.Sprintf("the operator does not run the slurmctld at %s", refs.ControllerSlurmctld(c).Address)}
	case o.Problem != nil:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: o.Problem.Reason, Message: o.Problem.Message}
	case o.Set == nil:
		return progressing("the StatefulSet of slurmctld is being created")
	case o.Set.Status.ObservedGeneration < o.Set.Generation:
		return progressing(fmt.Sprintf("StatefulSet %s is being updated", o.Set.Name))
	case o.Set.Status.ReadyReplicas == 0:
		return progressing(fmt.Sprintf("no pod of StatefulSet %s is ready", o.Set.Name))
	}
	message := "slurmctld is ready"
	if o.Replicas > 1 {
		message = fmt.Sprintf("%d of %d slurmctlds are ready", o.Set.Status.ReadyReplicas, o.Replicas)
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: v1beta1.ReasonAvailable, Message: message}
}

// Package status computes the status of Accountings. It is pure.
//
// Ready:
//
//	False Progressing ──► True Available
//	False InvalidSpec, ReferenceNotFound, ObjectTaken: until somebody corrects them
//	Unknown External: the operator does not run this slurmdbd
//
// ConfigApplied follows what the agent beside slurmdbd says (package agentstatus).
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
	// Set is the StatefulSet of slurmdbd, nil if there is none.
	Set *appsv1.StatefulSet
	// The other fields are what the agent beside slurmdbd says.
	agentstatus.Observation
}

// Of returns the status of an Accounting, from the last status and the observation.
func Of(now time.Time, a *v1beta1.Accounting, o Observation) v1beta1.AccountingStatus {
	out := *a.Status.DeepCopy()
	v1beta1.SetFieldsIgnored(&out.Conditions, a.Spec.IgnoredFields(), a.Generation, now)
	set := func(kind string, condition metav1.Condition) {
		condition.Type, condition.ObservedGeneration = kind, a.Generation
		condition.LastTransitionTime = metav1.NewTime(now)
		meta.SetStatusCondition(&out.Conditions, condition)
	}
	set(v1beta1.ConditionReady, readyCondition(a, o))
	if a.Spec.External {
		meta.RemoveStatusCondition(&out.Conditions, v1beta1.ConditionConfigApplied)
	} else {
		set(v1beta1.ConditionConfigApplied, o.Condition())
	}
	return out
}

// readyCondition returns what the condition Ready says.
func readyCondition(a *v1beta1.Accounting, o Observation) metav1.Condition {
	progressing := func(message string) metav1.Condition {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: v1beta1.ReasonProgressing, Message: message}
	}
	switch {
	case a.Spec.External:
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: v1beta1.ReasonExternal,
			Message: fmt.Sprintf("the operator does not run the slurmdbd at %s", refs.AccountingSlurmdbd(a))}
	case o.Problem != nil:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: o.Problem.Reason, Message: o.Problem.Message}
	case o.Set == nil:
		return progressing("the StatefulSet of slurmdbd is being created")
	case o.Set.Status.ObservedGeneration < o.Set.Generation:
		return progressing(fmt.Sprintf("StatefulSet %s is being updated", o.Set.Name))
	case o.Set.Status.ReadyReplicas == 0 && o.hasConfiguration():
		return progressing(fmt.Sprintf("slurmdbd does not listen yet: if this lasts, it waits for the database at %s; "+
			"its log says why", refs.AccountingDatabase(a)))
	case o.Set.Status.ReadyReplicas == 0:
		return progressing(fmt.Sprintf("no pod of StatefulSet %s is ready", o.Set.Name))
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: v1beta1.ReasonAvailable, Message: "slurmdbd is ready"}
}

// hasConfiguration reports whether slurmdbd has what it needs to start, but maybe its database.
func (o Observation) hasConfiguration() bool {
	return len(o.Agents) > 0 && o.Agents[0].Err == nil && o.Agents[0].Status.Applied != ""
}

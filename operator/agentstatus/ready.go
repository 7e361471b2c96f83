package agentstatus

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Ready returns the condition Ready.
func (o Observation) Ready() metav1.Condition {
	progressing := func(format string, args ...any) metav1.Condition {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: v1beta1.ReasonProgressing,
			Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case o.Problem != nil:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: o.Problem.Reason, Message: o.Problem.Message}
	case o.Set == nil:
		return progressing("the StatefulSet of %s is being created", o.Daemon)
	case o.Set.Status.ObservedGeneration < o.Set.Generation:
		return progressing("StatefulSet %s is being updated", o.Set.Name)
	case o.Set.Status.ReadyReplicas == 0:
		return progressing("no pod of StatefulSet %s is ready", o.Set.Name)
	}
	message := o.Daemon + " is ready"
	if o.Replicas > 1 {
		message = fmt.Sprintf("%d of %d %ss are ready", o.Set.Status.ReadyReplicas, o.Replicas, o.Daemon)
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: v1beta1.ReasonAvailable, Message: message}
}

// IsStarting reports whether no daemon is ready although it has its configuration and no problem exists: it
// waits for something that it needs to start.
func (o Observation) IsStarting() bool {
	if o.Problem != nil || o.Set == nil || o.Set.Status.ReadyReplicas > 0 ||
		o.Set.Status.ObservedGeneration < o.Set.Generation {
		return false
	}
	return len(o.Agents) > 0 && o.Agents[0].Err == nil && o.Agents[0].Status.Applied+o.Agents[0].Status.Given != ""
}

// External returns the condition Ready of a daemon that the operator does not run.
func External(daemon, address string) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionUnknown, Reason: v1beta1.ReasonExternal,
		Message: fmt.Sprintf("the operator does not run the %s at %s", daemon, address)}
}

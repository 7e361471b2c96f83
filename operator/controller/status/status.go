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

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// Observation is what the status is computed from.
type Observation struct {
	// Set is the StatefulSet of slurmctld, nil if there is none.
	Set *appsv1.StatefulSet
	// Replicas is how many slurmctlds there should be.
	Replicas int
	// Problem says why slurmctld's objects are not as the Controller wants them. It is nil if they are.
	Problem *problem.Error
	// Revision is that of the configuration that the operator has written last, empty if there is none.
	Revision string
	// Agents are the agents of slurmctld's pods.
	Agents []Agent
}

// Agent is what the agent of a pod says.
type Agent struct {
	// Pod is the name of its pod.
	Pod string
	// Status is what it has done.
	Status configagent.Status
	// Err is not nil if it does not answer.
	Err error
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
		set(v1beta1.ConditionConfigApplied, configCondition(o))
	}
	return out
}

// IsSettled reports whether every agent has applied or refused the newest configuration, so that nothing
// is to be expected before somebody changes something.
func (o Observation) IsSettled() bool {
	if len(o.Agents) < o.Replicas {
		return false
	}
	for _, agent := range o.Agents {
		decided := agent.Status.Applied == o.Revision || agent.Status.Wanted == o.Revision && agent.Status.Error != ""
		if agent.Err != nil || !decided {
			return false
		}
	}
	return true
}

// configCondition returns what the condition ConfigApplied says.
func configCondition(o Observation) metav1.Condition {
	if o.Problem != nil {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: o.Problem.Reason, Message: o.Problem.Message}
	}
	unknown := metav1.Condition{}
	applied := 0
	for _, agent := range o.Agents {
		s := agent.Status
		switch {
		case agent.Err != nil:
			unknown = metav1.Condition{Status: metav1.ConditionUnknown, Reason: v1beta1.ReasonNotObserved,
				Message: fmt.Sprintf("the agent of pod %s does not answer", agent.Pod)}
		case s.Wanted == o.Revision && s.Error != "":
			inForce := "slurmctld waits for another one"
			if s.Applied != "" {
				inForce = "revision " + s.Applied + " stays in force"
			}
			return metav1.Condition{Status: metav1.ConditionFalse, Reason: v1beta1.ReasonRefused,
				Message: fmt.Sprintf("revision %s is not applied: %s; %s", o.Revision, s.Error, inForce)}
		case s.Applied == o.Revision:
			applied++
		}
	}
	switch {
	case unknown.Status != "":
		return unknown
	case applied < len(o.Agents) || len(o.Agents) == 0:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: v1beta1.ReasonApplying,
			Message: fmt.Sprintf("revision %s is being checked and applied", o.Revision)}
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: v1beta1.ReasonApplied,
		Message: fmt.Sprintf("revision %s is in force", o.Revision)}
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

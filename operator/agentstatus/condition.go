// Package agentstatus computes the conditions Ready and ConfigApplied of a kind whose daemon a StatefulSet runs, with
// an agent beside it (package configagent). It is pure.
package agentstatus

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/problem"
)

const (
	// settlingInterval is how often the operator asks agents while they work on a configuration.
	settlingInterval = time.Second
	// silentInterval is the interval of questions to agents that do not answer, or that wait. A pod that becomes ready is noticed at
	// once.
	silentInterval = 5 * time.Second
)

// resyncInterval is how often an object without changes is reconciled.
const resyncInterval = 5 * time.Minute

// Observation is the input of the conditions.
type Observation struct {
	// Daemon is the name of the daemon.
	Daemon string
	// Replicas is the desired number of daemons.
	Replicas int
	// Problem is the reason why the daemon's objects could not be applied, or nil.
	Problem *problem.Error
	// Set is the StatefulSet of the daemon, or nil.
	Set *appsv1.StatefulSet
	// Revision is the revision of the configuration that the operator wrote last, or empty.
	Revision string
	// Agents are the agents of the daemon's pods.
	Agents []Agent
	// Object is the object whose annotation AnnotationForceRevision forces a held revision, as arguments of kubectl annotate. It is
	// empty if no object can force one.
	Object string
}

// Agent is the answer of the agent in a pod.
type Agent struct {
	// Pod is the name of its pod.
	Pod string
	// Status is the agent's status.
	Status configagent.Status
	// Err is not nil if it does not answer.
	Err error
}

// IsSettled reports whether no agent has anything left to do until an object changes. Every agent must have applied and handed out,
// or refused, the newest configuration, or follow one that refused it. Without a configuration nothing is settled.
func (o Observation) IsSettled() bool {
	if o.Revision == "" || len(o.Agents) < o.Replicas {
		return false
	}
	isApplied := slices.ContainsFunc(o.Agents, func(a Agent) bool { return a.Err == nil && a.Status.Applied == o.Revision })
	for _, agent := range o.Agents {
		s := agent.Status
		refused := s.Wanted == o.Revision && s.Following == "" && s.Error != "" && s.RetryAt.IsZero()
		waits := s.Wanted == o.Revision && (s.Held != nil || !s.RetryAt.IsZero())
		follows := s.Wanted == o.Revision && s.Following != "" && s.Following == s.Applied && !isApplied
		decided := s.Applied == o.Revision && !waits || refused && s.Given == "" || follows && !waits
		if agent.Err != nil || !decided {
			return false
		}
	}
	return true
}

// RequeueAfter returns when to ask the agents again, which the operator cannot watch, if no problem exists.
func (o Observation) RequeueAfter() time.Duration {
	switch {
	case o.IsSettled():
		return resyncInterval
	case slices.ContainsFunc(o.Agents, func(a Agent) bool {
		return a.Err == nil && a.Status.Applied != o.Revision && a.Status.Held == nil && a.Status.RetryAt.IsZero() && a.Status.Following == ""
	}):
		return settlingInterval
	}
	return silentInterval
}

// ConfigApplied returns the condition ConfigApplied.
func (o Observation) ConfigApplied() metav1.Condition {
	if o.Problem != nil {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: o.Problem.Reason, Message: o.Problem.Message}
	}
	if o.Revision == "" {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: v1beta1.ReasonApplying,
			Message: "the configuration of " + o.Daemon + " is being written"}
	}
	unknown := metav1.Condition{}
	applied, follows := 0, ""
	for _, agent := range o.Agents {
		s := agent.Status
		switch {
		case agent.Err != nil:
			unknown = metav1.Condition{Status: metav1.ConditionUnknown, Reason: v1beta1.ReasonNotObserved,
				Message: fmt.Sprintf("the agent of pod %s does not answer", agent.Pod)}
		case s.Wanted == o.Revision && s.Following != "":
			follows = "; " + o.following(agent)
		case s.Wanted == o.Revision && s.Held != nil:
			return o.notApplied(s, s.Held.Reason, s.Held.Message+o.wayOut(s.Held.Reason))
		case s.Wanted == o.Revision && s.Error != "" && s.RetryAt.IsZero():
			return o.notApplied(s, v1beta1.ReasonRefused, s.Error)
		case s.Wanted == o.Revision && s.Error != "":
			return o.notApplied(s, v1beta1.ReasonRetrying, s.Error)
		case s.Applied == o.Revision:
			applied++
		}
	}
	switch {
	case unknown.Status != "":
		return unknown
	case applied < len(o.Agents) || len(o.Agents) == 0:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: v1beta1.ReasonApplying,
			Message: fmt.Sprintf("revision %s is being checked and applied%s", o.Revision, follows)}
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: v1beta1.ReasonApplied,
		Message: fmt.Sprintf("revision %s is in force", o.Revision)}
}

// following describes the revision that an agent applies instead of the newest one, and what the newest one waits for.
func (o Observation) following(agent Agent) string {
	out := fmt.Sprintf("pod %s follows revision %s of the %s that serves", agent.Pod, agent.Status.Following, o.Daemon)
	if why := agent.Status.Problem(); why != "" {
		out += ", which waits: " + why
	}
	return out
}

// wayOut returns how to force a revision that is held for a reason, empty if it cannot be forced.
func (o Observation) wayOut(reason string) string {
	if o.Object == "" || reason == v1beta1.ReasonNameTaken || reason == v1beta1.ReasonSlurmdbdDown {
		return ""
	}
	harm := "end these jobs"
	if reason == v1beta1.ReasonUsersUnknown {
		harm = "lose these reservations"
	}
	return fmt.Sprintf("; to apply it now and %s: kubectl annotate %s --overwrite %s=%s", harm, o.Object,
		v1beta1.AnnotationForceRevision, o.Revision)
}

// notApplied returns the condition for a revision that an agent does not apply or hand out, with the reason.
func (o Observation) notApplied(s configagent.Status, reason, why string) metav1.Condition {
	if s.Applied == o.Revision {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason,
			Message: fmt.Sprintf("revision %s is in force, but: %s", o.Revision, why)}
	}
	inForce := o.Daemon + " waits for another one"
	switch {
	case s.Applied != "":
		inForce = "revision " + s.Applied + " stays in force"
	case s.Given != "":
		inForce = o.Daemon + " does not answer, so that nobody knows which revision it has"
	}
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason,
		Message: fmt.Sprintf("revision %s is not applied: %s; %s", o.Revision, why, inForce)}
}

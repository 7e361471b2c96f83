package wakeup

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/shape"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// ReasonSeveralAutoscalers is a reason of the condition WakeUp (False): several HPAs
// scale the NodeSet, so nobody can say what it should be.
const ReasonSeveralAutoscalers = "SeveralAutoscalers"

// todo is what a plan wants done.
type todo struct {
	// ask: the demand decides, and must be read first. Nothing else is set.
	ask bool
	// replicas is what spec.replicas becomes; nil leaves it.
	replicas *int32
	// claim: the zero comes from an autoscaler, and is to be marked as such.
	claim bool
	// verdict is what the condition says; nil for no condition.
	verdict *verdict
	// idle is the idle time to keep.
	idle idleTime
	// again is when to look again without a change; 0 for never.
	again time.Duration
}

// verdict is the condition WakeUp without its times.
type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
}

func no(reason, format string, args ...any) *verdict {
	return &verdict{metav1.ConditionFalse, reason, fmt.Sprintf(format, args...)}
}

func unclear(reason, format string, args ...any) *verdict {
	return &verdict{metav1.ConditionUnknown, reason, fmt.Sprintf(format, args...)}
}

// takenToZero is the same text when it is done and as long as it lasts.
const takenToZero = "it was taken to zero after it was idle (%s); it wakes when jobs need it"

// plan decides what to do about a NodeSet. It has an answer to whatever was seen.
func (c Config) plan(now time.Time, s seen) todo {
	switch {
	case !s.nodeSet.DeletionTimestamp.IsZero(), s.nodeSet.Spec.ScalingMode == v1beta1.ScalingModeDaemonSet:
		return todo{}
	case len(s.hpas) == 0:
		return withoutAutoscaler(s.nodeSet)
	case len(s.hpas) > 1:
		return todo{verdict: no(ReasonSeveralAutoscalers, "HPAs %s all scale it: leave one", names(s.hpas))}
	}
	w, err := wishesOf(s.nodeSet)
	if err != nil {
		return todo{verdict: unclear(v1beta1.ReasonInvalidAnnotation, "%v", err)}
	}
	if replicas(s.nodeSet) == 0 {
		return c.planAtZero(now, s, w)
	}
	return c.planAboveZero(now, s, w)
}

// withoutAutoscaler tells those who may expect something that nothing will happen.
func withoutAutoscaler(nodeSet *v1beta1.NodeSet) todo {
	_, wake := nodeSet.Annotations[v1beta1.AnnotationWake]
	_, zeroAfter := nodeSet.Annotations[v1beta1.AnnotationZeroAfter]
	if !wake && !zeroAfter && replicas(nodeSet) != 0 {
		return todo{}
	}
	return todo{verdict: no(v1beta1.ReasonNoAutoscaler, "no HPA scales it")}
}

// planAtZero decides whether to wake.
func (c Config) planAtZero(now time.Time, s seen, w wishes) todo {
	hpa := &s.hpas[0]
	limit := *shape.MaxReplicas(s.nodeSet, hpa)
	from := originOf(s.nodeSet.ManagedFields)
	switch {
	case w.wake == v1beta1.WakeNever:
		return todo{verdict: no(v1beta1.ReasonNeverWake, "the annotation %s is %q", v1beta1.AnnotationWake, w.wake)}
	case !asleep(hpa):
		return todo{claim: from == byHand && tookToZero(hpa), verdict: no(v1beta1.ReasonNotNeeded, "HPA %s wakes it by itself", hpa.Name)}
	case from == byHand && w.wake != v1beta1.WakeAlways:
		return todo{verdict: no(v1beta1.ReasonPaused, "it was scaled to zero by hand: scale it up to go on, or set the annotation %s to %q",
			v1beta1.AnnotationWake, v1beta1.WakeAlways)}
	case limit < 1:
		return todo{verdict: no(v1beta1.ReasonNotNeeded, "its maxReplicas is %d", limit)}
	case s.demand == nil:
		return todo{ask: true}
	}
	required, why := c.known(now, s.demand)
	switch {
	case why != "":
		return c.planUnknown(why)
	case required > 0:
		n := int32(min(required, int64(limit)))
		return todo{replicas: &n, again: c.LookEvery, verdict: &verdict{metav1.ConditionTrue, v1beta1.ReasonWoken,
			fmt.Sprintf("it was at zero with HPA %s asleep and needed %d: set to %d", hpa.Name, required, n)}}
	case from == byAutoscaler && w.zeroAfter > 0:
		return todo{verdict: no(v1beta1.ReasonTakenToZero, takenToZero, w.zeroAfter), again: c.LookEvery}
	}
	return todo{verdict: no(v1beta1.ReasonNotNeeded, "no job needs it"), again: c.LookEvery}
}

// planAboveZero decides whether to go to zero, which only zero-after asks for.
func (c Config) planAboveZero(now time.Time, s seen, w wishes) todo {
	hpa := &s.hpas[0]
	awake := no(v1beta1.ReasonNotNeeded, "it has replicas")
	if was := meta.FindStatusCondition(s.nodeSet.Status.Conditions, v1beta1.ConditionWakeUp); was != nil && was.Reason == v1beta1.ReasonWoken {
		awake = &verdict{was.Status, was.Reason, was.Message} // it is still what happened last
	}
	switch {
	case w.zeroAfter == 0:
		return todo{verdict: awake}
	case w.wake == v1beta1.WakeNever:
		return todo{verdict: no(v1beta1.ReasonNeverWake, "it is not taken to zero either, since the annotation %s is %q", v1beta1.AnnotationWake, w.wake)}
	case floorOf(hpa) != 1:
		return todo{verdict: no(v1beta1.ReasonNotNeeded, "it is not taken to zero: that is for an HPA with minReplicas 1, and HPA %s has %d", hpa.Name, floorOf(hpa))}
	case s.demand == nil:
		return todo{ask: true}
	}
	required, why := c.known(now, s.demand)
	switch {
	case why != "":
		return c.planUnknown(why)
	case required > 0 || s.nodeSet.Status.SlurmAllocated > 0:
		return todo{verdict: awake, again: c.LookEvery}
	}
	return c.planIdle(now, s.idle, w.zeroAfter)
}

// planIdle decides about a NodeSet that nothing waits for and that has no work.
func (c Config) planIdle(now time.Time, was idleTime, zeroAfter time.Duration) todo {
	idle := idleTime{since: now, last: now}
	if !was.since.IsZero() && now.Sub(was.last) <= c.StaleAfter {
		idle.since = was.since
	}
	if now.Sub(idle.since) < zeroAfter {
		return todo{idle: idle, again: c.LookEvery, verdict: no(v1beta1.ReasonNotNeeded,
			"it is idle since %s and is taken to zero after %s", idle.since.UTC().Format(time.RFC3339), zeroAfter)}
	}
	// The idle time is kept in case the write meets a conflict.
	return todo{replicas: new(int32), idle: idle, again: c.LookEvery, verdict: no(v1beta1.ReasonTakenToZero, takenToZero, zeroAfter)}
}

func (c Config) planUnknown(why string) todo {
	return todo{verdict: unclear(v1beta1.ReasonDemandUnknown, "%s is unknown: %s", Metric, why), again: c.LookEvery}
}

// known returns the number of a reading that can be relied on, or why it cannot.
func (c Config) known(now time.Time, r *reading) (required int64, why string) {
	age := now.Sub(r.at)
	switch {
	case r.err != nil:
		return 0, explain(r.err)
	case age > c.StaleAfter:
		return 0, fmt.Sprintf("the last value is older than %s", c.StaleAfter)
	case age < -c.StaleAfter:
		return 0, "its time is in the future"
	}
	return r.required, ""
}

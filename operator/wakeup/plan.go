package wakeup

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/scaling"
)

// ReasonSeveralAutoscalers is a reason of the condition WakeUp (False): several HPAs scale the
// NodeSet, so the desired replicas are ambiguous.
const ReasonSeveralAutoscalers = "SeveralAutoscalers"

// actions are the plan's decisions.
type actions struct {
	// needsDemand means that the decision depends on the demand, which must be read first. No other field is set.
	needsDemand bool
	// replicas is the new value of spec.replicas; nil keeps it.
	replicas *int32
	// claimZero: the zero was set by an autoscaler and must be marked as such.
	claimZero bool
	// condition is the condition WakeUp; nil removes it.
	condition *wakeUpCondition
	// idle is the idle time to keep.
	idle idleTime
	// requeueAfter is the time until the next reconciliation without a change, or 0.
	requeueAfter time.Duration
}

// wakeUpCondition is the condition WakeUp without its times.
type wakeUpCondition struct {
	status          metav1.ConditionStatus
	reason, message string
}

func conditionFalse(reason, format string, args ...any) *wakeUpCondition {
	return &wakeUpCondition{metav1.ConditionFalse, reason, fmt.Sprintf(format, args...)}
}

func conditionUnknown(reason, format string, args ...any) *wakeUpCondition {
	return &wakeUpCondition{metav1.ConditionUnknown, reason, fmt.Sprintf(format, args...)}
}

// takenToZeroMessage stays the same while the NodeSet is at zero.
const takenToZeroMessage = "it was scaled to zero after it was idle (%s); it wakes when jobs need it"

// plan decides the actions for a NodeSet. It is total: every observation has actions.
func (c Config) plan(now time.Time, s observation) actions {
	switch {
	case !s.nodeSet.DeletionTimestamp.IsZero(), s.nodeSet.Spec.ScalingMode == v1beta1.ScalingModeDaemonSet:
		return actions{}
	case s.isZeroOfDeletedHPA():
		return actions{claimZero: true, requeueAfter: c.PollInterval,
			condition: conditionFalse(v1beta1.ReasonNotNeeded, "an HPA that was deleted scaled it to zero")}
	case len(s.hpas) == 0:
		return planWithoutAutoscaler(s)
	case len(s.hpas) > 1:
		return actions{condition: conditionFalse(ReasonSeveralAutoscalers,
			"HPAs %s all scale it: keep only one", joinNames(s.hpas))}
	}
	w, err := parseWakeAnnotations(s.nodeSet)
	if err != nil {
		return actions{condition: conditionUnknown(v1beta1.ReasonInvalidAnnotation, "%v", err)}
	}
	var out actions
	switch {
	case scaling.MayBeginAtZero(s.nodeSet, s.hpas, now):
		out = c.planBeginning(now, s)
	case scaling.SpecReplicas(s.nodeSet) == 0:
		out = c.planAtZero(now, s, w)
	default:
		out = c.planAboveZero(now, s, w)
	}
	if w.scalesUpAtOnce && w.wake != v1beta1.WakeNever {
		out = c.planScaleUp(now, s, out)
	}
	return out
}

// planWithoutAutoscaler reports that a NodeSet is not woken or scaled to zero, if its annotations or
// replicas suggest that it should be.
func planWithoutAutoscaler(s observation) actions {
	nodeSet := s.nodeSet
	_, wake := nodeSet.Annotations[v1beta1.AnnotationWake]
	_, zeroAfter := nodeSet.Annotations[v1beta1.AnnotationZeroAfter]
	if !wake && !zeroAfter && scaling.SpecReplicas(nodeSet) != 0 {
		return actions{}
	}
	if s.mayBeZeroOfDeletedHPA() {
		return actions{condition: conditionUnknown(v1beta1.ReasonNoAutoscaler,
			"no HPA scales it; the deleted one probably scaled it to zero")}
	}
	return actions{condition: conditionFalse(v1beta1.ReasonNoAutoscaler, "no HPA scales it")}
}

// planBeginning decides whether a new NodeSet begins at zero: if no job needs it. While that is unknown, its first worker waits
// (scaling.AwaitsBeginning).
func (c Config) planBeginning(now time.Time, s observation) actions {
	if !meta.IsStatusConditionTrue(s.nodeSet.Status.Conditions, v1beta1.ConditionSubmittable) {
		return actions{requeueAfter: c.PollInterval, condition: conditionUnknown(v1beta1.ReasonDemandUnknown,
			"it is new, and its records are not in Slurm yet, so that nobody can submit a job for it")}
	}
	if s.demand == nil {
		return actions{needsDemand: true}
	}
	required, why := c.knownDemand(now, s.demand)
	switch {
	case why != "":
		return c.planUnknown(why)
	case required > 0 || s.nodeSet.Status.SlurmAllocated > 0:
		return actions{requeueAfter: c.PollInterval, condition: conditionFalse(v1beta1.ReasonNotNeeded, "jobs need it from the beginning")}
	}
	return actions{replicas: new(int32), requeueAfter: c.PollInterval, condition: conditionFalse(v1beta1.ReasonBeginsAtZero,
		"it is new, no job needs it, and HPA %s allows no replicas: it begins at zero, and wakes when jobs need it", s.hpas[0].Name)}
}

// planAtZero decides whether to wake.
func (c Config) planAtZero(now time.Time, s observation, w wakeAnnotations) actions {
	hpa := &s.hpas[0]
	limit := *scaling.MaxReplicas(s.nodeSet, hpa)
	from := zeroOriginOf(s.nodeSet.ManagedFields)
	switch {
	case w.wake == v1beta1.WakeNever:
		return actions{condition: conditionFalse(v1beta1.ReasonNeverWake,
			"the annotation %s is %q", v1beta1.AnnotationWake, w.wake)}
	case !scaling.IsAsleep(hpa):
		return actions{
			claimZero: from == zeroByHand && scaling.HasScaledToZero(hpa),
			condition: conditionFalse(v1beta1.ReasonNotNeeded, "HPA %s wakes it", hpa.Name),
		}
	case from == zeroByHand && w.wake != v1beta1.WakeAlways:
		return actions{condition: conditionFalse(v1beta1.ReasonPaused,
			"it was scaled to zero by hand: scale it up to resume, or set the annotation %s to %q",
			v1beta1.AnnotationWake, v1beta1.WakeAlways)}
	case limit < 1:
		return actions{condition: conditionFalse(v1beta1.ReasonNotNeeded, "its maxReplicas is %d", limit)}
	case s.demand == nil:
		return actions{needsDemand: true}
	}
	required, why := c.knownDemand(now, s.demand)
	least := int64(0)
	if from == zeroByAutoscaler && w.zeroAfter == 0 { // an HPA that is awake would keep as many
		least = int64(scaling.MinReplicas(hpa))
	}
	switch {
	case why != "":
		return c.planUnknown(why)
	case required > 0 || least > 0:
		n := int32(min(max(required, least), int64(limit)))
		message := fmt.Sprintf("it was at zero with HPA %s asleep and needed %d: set to %d", hpa.Name, required, n)
		if required < int64(n) {
			message = fmt.Sprintf("it was at zero with HPA %s asleep, whose minReplicas is %d now: set to %d", hpa.Name, least, n)
		}
		return actions{replicas: &n, requeueAfter: c.PollInterval,
			condition: &wakeUpCondition{metav1.ConditionTrue, v1beta1.ReasonWoken, message}}
	case from == zeroByAutoscaler && w.zeroAfter > 0:
		return actions{requeueAfter: c.PollInterval,
			condition: conditionFalse(v1beta1.ReasonTakenToZero, takenToZeroMessage, w.zeroAfter)}
	}
	return actions{condition: conditionFalse(v1beta1.ReasonNotNeeded, "no job needs it"), requeueAfter: c.PollInterval}
}

// planAboveZero decides whether to scale to zero, which requires the annotation zero-after.
func (c Config) planAboveZero(now time.Time, s observation, w wakeAnnotations) actions {
	hpa := &s.hpas[0]
	awake := conditionFalse(v1beta1.ReasonNotNeeded, "it has replicas")
	if was := meta.FindStatusCondition(s.nodeSet.Status.Conditions, v1beta1.ConditionWakeUp); was != nil &&
		(was.Reason == v1beta1.ReasonWoken || was.Reason == v1beta1.ReasonScaledUp) {
		awake = &wakeUpCondition{was.Status, was.Reason, was.Message} // it still describes the last event
	}
	switch {
	case w.zeroAfter == 0:
		return actions{condition: awake}
	case w.wake == v1beta1.WakeNever:
		return actions{condition: conditionFalse(v1beta1.ReasonNeverWake,
			"it is not scaled to zero either, since the annotation %s is %q", v1beta1.AnnotationWake, w.wake)}
	case scaling.MinReplicas(hpa) != 1:
		return actions{condition: conditionFalse(v1beta1.ReasonNotNeeded,
			"it is not scaled to zero: that requires an HPA with minReplicas 1, and HPA %s has %d",
			hpa.Name, scaling.MinReplicas(hpa))}
	case s.demand == nil:
		return actions{needsDemand: true}
	}
	required, why := c.knownDemand(now, s.demand)
	switch {
	case why != "":
		return c.planUnknown(why)
	case required > 0 || s.nodeSet.Status.SlurmAllocated > 0:
		return actions{condition: awake, requeueAfter: c.PollInterval}
	}
	return c.planIdle(now, s.idle, w.zeroAfter)
}

// planIdle decides about a NodeSet without pending and running jobs.
func (c Config) planIdle(now time.Time, was idleTime, zeroAfter time.Duration) actions {
	idle := idleTime{since: now, last: now}
	if !was.since.IsZero() && now.Sub(was.last) <= c.StaleAfter {
		idle.since = was.since
	}
	if now.Sub(idle.since) < zeroAfter {
		return actions{idle: idle, requeueAfter: c.PollInterval, condition: conditionFalse(v1beta1.ReasonNotNeeded,
			"it has been idle since %s and is scaled to zero after %s", idle.since.UTC().Format(time.RFC3339),
			zeroAfter)}
	}
	// The idle time is kept in case the write meets a conflict.
	return actions{replicas: new(int32), idle: idle, requeueAfter: c.PollInterval,
		condition: conditionFalse(v1beta1.ReasonTakenToZero, takenToZeroMessage, zeroAfter)}
}

func (c Config) planUnknown(why string) actions {
	return actions{requeueAfter: c.PollInterval,
		condition: conditionUnknown(v1beta1.ReasonDemandUnknown, "%s is unknown: %s", scaling.RequiredNodesMetric, why)}
}

// knownDemand returns the number of a reading, or why it is unknown.
func (c Config) knownDemand(now time.Time, r *demandReading) (required int64, why string) {
	age := now.Sub(r.at)
	switch {
	case r.err != nil:
		return 0, explainError(r.err)
	case age > c.StaleAfter:
		return 0, fmt.Sprintf("the last value is older than %s", c.StaleAfter)
	case age < -c.StaleAfter:
		return 0, "its time is in the future"
	}
	return r.required, ""
}

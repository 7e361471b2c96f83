package wakeup

import (
	"errors"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

const (
	unchanged    = -1 // replicas are not written
	pollInterval = 5 * time.Second
)

func TestPlan(t *testing.T) {
	const (
		wake      = v1beta1.AnnotationWake
		zeroAfter = v1beta1.AnnotationZeroAfter
	)
	paused := withoutOwner
	ten := []option{withReplicas(2), withMinReplicas(1), withAnnotation(zeroAfter, "10m")}
	for _, tc := range []struct {
		name     string
		seen     []option
		replicas int
		reason   string // of the condition, or empty
		again    time.Duration
		claim    bool
	}{
		// New.
		{"created, and no job needs it", []option{withReplicas(1), isNew, withDemand(0, 0)}, 0, "BeginsAtZero", pollInterval, false},
		{"created, and jobs need it", []option{withReplicas(1), isNew, withDemand(1, 0)}, unchanged, "NotNeeded", pollInterval, false},
		{"created, and the demand cannot be read", []option{withReplicas(1), isNew, withDemandError(errors.New("no"))}, unchanged,
			"DemandUnknown", pollInterval, false},
		{"created, and the demand is of long ago", []option{withReplicas(1), isNew, withDemand(0, time.Hour)}, unchanged, "DemandUnknown",
			pollInterval, false},
		{"created, with an annotation that cannot be read", []option{withReplicas(1), isNew, withAnnotation(zeroAfter, "soon"),
			withDemand(0, 0)}, unchanged, "InvalidAnnotation", 0, false},
		{"created, and the records are not there", []option{withReplicas(1), isNew, withSubmittable("False", "RecordsMissing"), withDemand(0, 0)},
			unchanged, "DemandUnknown", pollInterval, false},
		{"created, and nothing is known yet", []option{withReplicas(1), isNew, withoutConditions, withDemand(0, 0)}, unchanged, "DemandUnknown",
			pollInterval, false},
		{"created, and Slurm accepts no job without workers", []option{withReplicas(1), isNew, withSubmittable("False", "ShapeUnknown"),
			withDemand(0, 0)}, unchanged, "NotNeeded", 0, false},
		{"created with an HPA that keeps one", []option{withReplicas(1), isNew, withMinReplicas(1)}, unchanged, "NotNeeded", 0, false},
		// At zero.
		{"created at zero, with work", []option{withDemand(3, 0)}, 3, "Woken", pollInterval, false},
		{"created at zero, without work", []option{withDemand(0, 0)}, unchanged, "NotNeeded", pollInterval, false},
		{"created at zero with an HPA that has not reconciled yet", []option{withNewHPA, withDemand(3, 0)}, 3, "Woken",
			pollInterval, false},
		{"taken to zero by its HPA", []option{withoutOwner, withAwakeHPA, withDemand(3, 0)}, unchanged, "NotNeeded", 0,
			true},
		{"taken to zero by its HPA, and claimed", []option{withClaim, withAwakeHPA, withDemand(3, 0)}, unchanged,
			"NotNeeded", 0, false},
		{"at zero, and its HPA keeps more since", []option{withClaim, withMinReplicas(4), withDemand(0, 0)}, 4, "Woken", pollInterval, false},
		{"at zero, and its HPA keeps more than it may have", []option{withClaim, withMinReplicas(4), withMaxReplicas(3), withDemand(1, 0)}, 3, "Woken",
			pollInterval, false},
		{"taken to zero after a time, and its HPA keeps one", []option{withClaim, withMinReplicas(1), withAnnotation(zeroAfter, "10m"),
			withDemand(0, 0)}, unchanged, "TakenToZero", pollInterval, false},
		{"taken to zero by its HPA, and applied at zero", []option{withOwner("helm"), withAwakeHPA, withDemand(3, 0)},
			unchanged, "NotNeeded", 0, false},
		{"an HPA that failed to read its metric at zero is awake", []option{withClaim, withAwakeHPA,
			withHPACondition(autoscalingv2.ScalingActive, corev1.ConditionFalse, "FailedGetObjectMetric"),
			withDemand(3, 0)}, unchanged, "NotNeeded", 0, false},
		{"just set to zero and the HPA has not reconciled since", []option{paused,
			withHPACondition(autoscalingv2.ScalingActive, corev1.ConditionTrue, "ValidMetricFound"), withDemand(3, 0)},
			unchanged, "NotNeeded", 0, false},
		{"an HPA that did not take it to zero says so",
			[]option{withHPACondition(autoscalingv2.ScaledToZero, corev1.ConditionFalse, "NotScaledToZero"),
				withDemand(3, 0)}, 3, "Woken", pollInterval, false},
		{"taken to zero by kubectl scale", []option{paused, withDemand(3, 0)}, unchanged, "Paused", 0, false},
		{"taken to zero by an owner through the scale subresource", []option{func(s *observation) {
			s.nodeSet.ManagedFields = append(s.nodeSet.ManagedFields, replicasOwner("kubectl", "scale"))
		}, withDemand(3, 0)}, unchanged, "Paused", 0, false},
		{"taken to zero by a Helm upgrade", []option{withOwner("helm"), withDemand(3, 0)}, 3, "Woken", pollInterval,
			false},
		{"taken to zero by its HPA, which was deleted and created again", []option{withClaim, withDemand(3, 0)}, 3,
			"Woken", pollInterval, false},
		{"taken to zero by its HPA, which was just created again", []option{withClaim, withNewHPA, withDemand(3, 0)}, 3,
			"Woken", pollInterval, false},
		{"paused, but always to be woken", []option{paused, withAnnotation(wake, "always"), withDemand(3, 0)}, 3,
			"Woken", pollInterval, false},
		{"always to be woken by an HPA that is awake",
			[]option{withAwakeHPA, withAnnotation(wake, "always"), withDemand(3, 0)}, unchanged, "NotNeeded", 0, false},
		{"never to be woken", []option{withAnnotation(wake, "never"), withDemand(3, 0)}, unchanged, "NeverWake", 0,
			false},
		{"an annotation that cannot be read", []option{withAnnotation(wake, "sometimes"), withDemand(3, 0)}, unchanged,
			"InvalidAnnotation", 0, false},
		{"no HPA", []option{func(s *observation) { s.hpas = nil }, withDemand(3, 0)}, unchanged, "NoAutoscaler", 0,
			false},
		{"two HPAs", []option{func(s *observation) { s.hpas = append(s.hpas, *newHPA("other")) }, withDemand(3, 0)},
			unchanged, "SeveralAutoscalers", 0, false},
		{"demand that cannot be read", []option{withDemandError(errors.New("no")), withReplicas(0)}, unchanged,
			"DemandUnknown", pollInterval, false},
		{"demand that is old", []option{withDemand(3, 2*time.Minute+time.Second)}, unchanged, "DemandUnknown",
			pollInterval, false},
		{"demand that is nearly old", []option{withDemand(3, 2*time.Minute)}, 3, "Woken", pollInterval, false},
		{"demand of the future", []option{withDemand(3, -3*time.Minute)}, unchanged, "DemandUnknown", pollInterval,
			false},
		{"more work than the HPA allows", []option{withDemand(1_000_000_000_000, 0)}, 10, "Woken", pollInterval, false},
		{"more work than the NodeSet allows",
			[]option{func(s *observation) { s.nodeSet.Spec.MaxReplicas = new(int32(4)) }, withDemand(7, 0)}, 4, "Woken",
			pollInterval, false},
		{"a NodeSet that allows no worker", []option{func(s *observation) { s.nodeSet.Spec.MaxReplicas = new(int32) },
			withDemand(7, 0)}, unchanged, "NotNeeded", 0, false},
		{"being deleted", []option{func(s *observation) { s.nodeSet.DeletionTimestamp = new(metav1.NewTime(now)) },
			withDemand(3, 0)}, unchanged, "", 0, false},
		{"one worker on each Kubernetes node",
			[]option{func(s *observation) { s.nodeSet.Spec.ScalingMode = v1beta1.ScalingModeDaemonSet },
				withDemand(3, 0)}, unchanged, "", 0, false},

		// Without HPAScaleToZero, minReplicas is 1.
		{"at zero without the gate, with work", []option{withMinReplicas(1), withDemand(3, 0)}, 3, "Woken",
			pollInterval, false},
		{"taken to zero by us, without work", []option{withMinReplicas(1), withAnnotation(zeroAfter, "10m"), withClaim,
			withDemand(0, 0)}, unchanged, "TakenToZero", pollInterval, false},
		{"taken to zero by us, with work", []option{withMinReplicas(1), withAnnotation(zeroAfter, "10m"), withClaim,
			withDemand(1, 0)}, 1, "Woken", pollInterval, false},

		// Above zero.
		{"above zero", []option{withReplicas(2), withDemand(0, 0)}, unchanged, "NotNeeded", 0, false},
		{"paused and then raised by hand", []option{withReplicas(2), paused, withDemand(5, 0)}, unchanged, "NotNeeded",
			0, false},
		{"replicas unset are one", []option{func(s *observation) { s.nodeSet.Spec.Replicas = nil }, withDemand(5, 0)},
			unchanged, "NotNeeded", 0, false},
		{"woken before", []option{withReplicas(2), withWakeUpCondition("True", "Woken", "x")}, unchanged, "Woken", 0,
			false},
		{"above zero with no HPA", []option{withReplicas(2), func(s *observation) { s.hpas = nil }}, unchanged, "", 0,
			false},
		{"to go to zero with no HPA", []option{withReplicas(2), withAnnotation(zeroAfter, "10m"),
			func(s *observation) { s.hpas = nil }}, unchanged, "NoAutoscaler", 0, false},
		{"idle just now", append(ten, withDemand(0, 0)), unchanged, "NotNeeded", pollInterval, false},
		{"idle for less than zero-after", append(ten, withDemand(0, 0), withIdleTime(9*time.Minute, pollInterval)),
			unchanged, "NotNeeded", pollInterval, false},
		{"idle for zero-after", append(ten, withDemand(0, 0), withIdleTime(10*time.Minute, pollInterval)), 0,
			"TakenToZero", pollInterval, false},
		{"idle for zero-after with a default minReplicas",
			append(ten, withDemand(0, 0), withIdleTime(10*time.Minute, pollInterval),
				func(s *observation) { s.hpas[0].Spec.MinReplicas = nil }), 0, "TakenToZero", pollInterval, false},
		{"idle for zero-after, not reconciled meanwhile",
			append(ten, withDemand(0, 0), withIdleTime(time.Hour, 3*time.Minute)), unchanged, "NotNeeded", pollInterval,
			false},
		{"work again when zero-after is over",
			append(ten, withDemand(1, 0), withIdleTime(10*time.Minute, pollInterval)), unchanged, "NotNeeded",
			pollInterval, false},
		{"no demand but busy", append(ten, withDemand(0, 0), withIdleTime(time.Hour, pollInterval),
			func(s *observation) { s.nodeSet.Status.SlurmAllocated = 1 }), unchanged, "NotNeeded", pollInterval, false},
		{"demand unknown when zero-after is over",
			append(ten, withDemandError(errors.New("no")), withIdleTime(time.Hour, pollInterval)), unchanged,
			"DemandUnknown", pollInterval, false},
		{"demand old when zero-after is over",
			append(ten, withDemand(0, 3*time.Minute), withIdleTime(time.Hour, pollInterval)), unchanged,
			"DemandUnknown", pollInterval, false},
		{"zero-after with an HPA that can go to zero",
			append(ten, withMinReplicas(0), withDemand(0, 0), withIdleTime(time.Hour, pollInterval)), unchanged,
			"NotNeeded", 0, false},
		{"zero-after with an HPA that keeps two",
			append(ten, withMinReplicas(2), withDemand(0, 0), withIdleTime(time.Hour, pollInterval)), unchanged,
			"NotNeeded", 0, false},
		{"zero-after that would be for ever", append(ten, withAnnotation(wake, "never"), withDemand(0, 0),
			withIdleTime(time.Hour, pollInterval)), unchanged, "NeverWake", 0, false},
		{"zero-after that is no time", append(ten, withAnnotation(zeroAfter, "soon"), withDemand(0, 0)), unchanged,
			"InvalidAnnotation", 0, false},
		{"zero-after that is no wait", append(ten, withAnnotation(zeroAfter, "0s"), withDemand(0, 0)), unchanged,
			"InvalidAnnotation", 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := DefaultConfig().plan(now, newObservation(tc.seen...))
			if got.needsDemand {
				t.Fatal("it needs the demand, which is known")
			}
			if n := writtenReplicas(got); n != tc.replicas {
				t.Errorf("replicas become %d, not %d", n, tc.replicas)
			}
			if got.claimZero != tc.claim {
				t.Errorf("it claims the zero: %v", got.claimZero)
			}
			if got.requeueAfter != tc.again {
				t.Errorf("it requeues after %s, not %s", got.requeueAfter, tc.again)
			}
			reason := ""
			if got.condition != nil {
				reason = got.condition.reason
			}
			if reason != tc.reason {
				t.Errorf("the reason is %q, not %q", reason, tc.reason)
			}
			if want := statuses[tc.reason]; reason != "" && got.condition.status != want {
				t.Errorf("the status is %s, not %s", got.condition.status, want)
			}
		})
	}
}

func TestOrderOfHPAsDoesNotMatter(t *testing.T) {
	both := func(names ...string) option {
		return func(s *observation) {
			s.hpas = nil
			for _, name := range names {
				s.hpas = append(s.hpas, *newHPA(name))
			}
		}
	}
	cfg := DefaultConfig()
	one, other := cfg.plan(now, newObservation(both("a", "b"))), cfg.plan(now, newObservation(both("b", "a")))
	if *one.condition != *other.condition {
		t.Errorf("the condition is %+v, and %+v in reverse order", one.condition, other.condition)
	}
}

// statuses is the status that belongs to each reason.
var statuses = map[string]metav1.ConditionStatus{
	"Woken": "True", "NotNeeded": "False", "Paused": "False", "NeverWake": "False", "NoAutoscaler": "False",
	"SeveralAutoscalers": "False", "TakenToZero": "False", "BeginsAtZero": "False", "DemandUnknown": "Unknown", "InvalidAnnotation": "Unknown",
}

// writtenReplicas returns the new replicas, or unchanged if they stay.
func writtenReplicas(d actions) int {
	if d.replicas == nil {
		return unchanged
	}
	return int(*d.replicas)
}

func TestDemandIsReadOnlyWhenItDecides(t *testing.T) {
	for _, tc := range []struct {
		name string
		seen []option
		want bool
	}{
		{"at zero and asleep", nil, true},
		{"to go to zero", []option{withReplicas(1), withMinReplicas(1),
			withAnnotation(v1beta1.AnnotationZeroAfter, "1m")}, true},
		{"at zero with an HPA that is awake", []option{withAwakeHPA}, false},
		{"paused", []option{withoutOwner}, false},
		{"above zero", []option{withReplicas(1)}, false},
		{"never to be woken", []option{withAnnotation(v1beta1.AnnotationWake, "never")}, false},
		{"no HPA", []option{func(s *observation) { s.hpas = nil }}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := DefaultConfig().plan(now, newObservation(tc.seen...))
			if got.needsDemand != tc.want {
				t.Errorf("needsDemand is %v", got.needsDemand)
			}
			if got.needsDemand && (got.replicas != nil || got.condition != nil) {
				t.Errorf("it decides without the demand that it needs: %+v", got)
			}
		})
	}
}

func TestIdleTimeContinuesOnlyWhileEveryReadingShowsNoDemand(t *testing.T) {
	base := []option{withReplicas(2), withMinReplicas(1), withAnnotation(v1beta1.AnnotationZeroAfter, "1h"),
		withIdleTime(10*time.Minute, pollInterval)}
	for _, tc := range []struct {
		name string
		seen option
		want idleTime
	}{
		{"no demand", withDemand(0, 0), idleTime{since: now.Add(-10 * time.Minute), last: now}},
		{"demand", withDemand(1, 0), idleTime{}},
		{"unknown", withDemandError(errors.New("no")), idleTime{}},
		{"old", withDemand(0, time.Hour), idleTime{}},
		{"at zero", withReplicas(0), idleTime{}},
		{"not reconciled for long", func(s *observation) { withDemand(0, 0)(s); withIdleTime(time.Hour, time.Hour)(s) },
			idleTime{since: now, last: now}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := DefaultConfig().plan(now, newObservation(append(base, tc.seen)...)).idle; got != tc.want {
				t.Errorf("the idle time is %+v, not %+v", got, tc.want)
			}
		})
	}
}

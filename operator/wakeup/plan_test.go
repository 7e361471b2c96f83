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
	leave = -1 // replicas are not written
	poll  = 5 * time.Second
)

func TestPlan(t *testing.T) {
	const (
		wake      = v1beta1.AnnotationWake
		zeroAfter = v1beta1.AnnotationZeroAfter
	)
	paused := unowned
	ten := []option{at(2), hpaFloor(1), annotated(zeroAfter, "10m")}
	for _, tc := range []struct {
		name     string
		seen     []option
		replicas int
		reason   string // of the condition, empty for none
		again    time.Duration
		claim    bool
	}{
		// At zero.
		{"created at zero, with work", []option{demands(3, 0)}, 3, "Woken", poll, false},
		{"created at zero, without work", []option{demands(0, 0)}, leave, "NotNeeded", poll, false},
		{"created at zero with an HPA that has not looked yet", []option{hpaNew, demands(3, 0)}, 3, "Woken", poll, false},
		{"taken to zero by its HPA", []option{unowned, hpaAwake, demands(3, 0)}, leave, "NotNeeded", 0, true},
		{"taken to zero by its HPA, and claimed", []option{claimed, hpaAwake, demands(3, 0)}, leave, "NotNeeded", 0, false},
		{"taken to zero by its HPA, and applied at zero", []option{ownedBy("helm"), hpaAwake, demands(3, 0)}, leave, "NotNeeded", 0, false},
		{"an HPA that failed to read its metric at zero is awake", []option{claimed, hpaAwake,
			hpaSays(autoscalingv2.ScalingActive, corev1.ConditionFalse, "FailedGetObjectMetric"), demands(3, 0)}, leave, "NotNeeded", 0, false},
		{"just set to zero and the HPA has not looked since", []option{paused,
			hpaSays(autoscalingv2.ScalingActive, corev1.ConditionTrue, "ValidMetricFound"), demands(3, 0)}, leave, "NotNeeded", 0, false},
		{"an HPA that did not take it to zero says so", []option{hpaSays(autoscalingv2.ScaledToZero, corev1.ConditionFalse, "NotScaledToZero"), demands(3, 0)}, 3, "Woken", poll, false},
		{"taken to zero by kubectl scale", []option{paused, demands(3, 0)}, leave, "Paused", 0, false},
		{"taken to zero by an owner through the scale subresource", []option{func(s *seen) {
			s.nodeSet.ManagedFields = append(s.nodeSet.ManagedFields, owner("kubectl", "scale"))
		}, demands(3, 0)}, leave, "Paused", 0, false},
		{"taken to zero by a Helm upgrade", []option{ownedBy("helm"), demands(3, 0)}, 3, "Woken", poll, false},
		{"taken to zero by its HPA, which was deleted and made anew", []option{claimed, demands(3, 0)}, 3, "Woken", poll, false},
		{"taken to zero by its HPA, which was made anew a moment ago", []option{claimed, hpaNew, demands(3, 0)}, 3, "Woken", poll, false},
		{"paused, but always to be woken", []option{paused, annotated(wake, "always"), demands(3, 0)}, 3, "Woken", poll, false},
		{"always to be woken by an HPA that is awake", []option{hpaAwake, annotated(wake, "always"), demands(3, 0)}, leave, "NotNeeded", 0, false},
		{"never to be woken", []option{annotated(wake, "never"), demands(3, 0)}, leave, "NeverWake", 0, false},
		{"an annotation that cannot be read", []option{annotated(wake, "sometimes"), demands(3, 0)}, leave, "InvalidAnnotation", 0, false},
		{"no HPA", []option{func(s *seen) { s.hpas = nil }, demands(3, 0)}, leave, "NoAutoscaler", 0, false},
		{"two HPAs", []option{func(s *seen) { s.hpas = append(s.hpas, *hpa("other")) }, demands(3, 0)}, leave, "SeveralAutoscalers", 0, false},
		{"demand that cannot be read", []option{demandFails(errors.New("no")), at(0)}, leave, "DemandUnknown", poll, false},
		{"demand that is old", []option{demands(3, 2*time.Minute+time.Second)}, leave, "DemandUnknown", poll, false},
		{"demand that is nearly old", []option{demands(3, 2*time.Minute)}, 3, "Woken", poll, false},
		{"demand of the future", []option{demands(3, -3*time.Minute)}, leave, "DemandUnknown", poll, false},
		{"more work than the HPA allows", []option{demands(1_000_000_000_000, 0)}, 10, "Woken", poll, false},
		{"more work than the NodeSet allows", []option{func(s *seen) { s.nodeSet.Spec.MaxReplicas = new(int32(4)) }, demands(7, 0)}, 4, "Woken", poll, false},
		{"a NodeSet that allows no worker", []option{func(s *seen) { s.nodeSet.Spec.MaxReplicas = new(int32) }, demands(7, 0)}, leave, "NotNeeded", 0, false},
		{"being deleted", []option{func(s *seen) { s.nodeSet.DeletionTimestamp = new(metav1.NewTime(now)) }, demands(3, 0)}, leave, "", 0, false},
		{"one worker on each Kubernetes node", []option{func(s *seen) { s.nodeSet.Spec.ScalingMode = v1beta1.ScalingModeDaemonSet }, demands(3, 0)}, leave, "", 0, false},

		// Without HPAScaleToZero, minReplicas is 1.
		{"at zero without the gate, with work", []option{hpaFloor(1), demands(3, 0)}, 3, "Woken", poll, false},
		{"taken to zero by us, without work", []option{hpaFloor(1), annotated(zeroAfter, "10m"), claimed, demands(0, 0)}, leave, "TakenToZero", poll, false},
		{"taken to zero by us, with work", []option{hpaFloor(1), annotated(zeroAfter, "10m"), claimed, demands(1, 0)}, 1, "Woken", poll, false},

		// Above zero.
		{"above zero", []option{at(2), demands(0, 0)}, leave, "NotNeeded", 0, false},
		{"paused and then raised by hand", []option{at(2), paused, demands(5, 0)}, leave, "NotNeeded", 0, false},
		{"replicas unset are one", []option{func(s *seen) { s.nodeSet.Spec.Replicas = nil }, demands(5, 0)}, leave, "NotNeeded", 0, false},
		{"woken before", []option{at(2), condition("True", "Woken", "x")}, leave, "Woken", 0, false},
		{"above zero with no HPA", []option{at(2), func(s *seen) { s.hpas = nil }}, leave, "", 0, false},
		{"to go to zero with no HPA", []option{at(2), annotated(zeroAfter, "10m"), func(s *seen) { s.hpas = nil }}, leave, "NoAutoscaler", 0, false},
		{"idle just now", append(ten, demands(0, 0)), leave, "NotNeeded", poll, false},
		{"idle for less than zero-after", append(ten, demands(0, 0), idleFor(9*time.Minute, poll)), leave, "NotNeeded", poll, false},
		{"idle for zero-after", append(ten, demands(0, 0), idleFor(10*time.Minute, poll)), 0, "TakenToZero", poll, false},
		{"idle for zero-after with a default minReplicas", append(ten, demands(0, 0), idleFor(10*time.Minute, poll), func(s *seen) { s.hpas[0].Spec.MinReplicas = nil }), 0, "TakenToZero", poll, false},
		{"idle for zero-after, not looked at meanwhile", append(ten, demands(0, 0), idleFor(time.Hour, 3*time.Minute)), leave, "NotNeeded", poll, false},
		{"work again when zero-after is over", append(ten, demands(1, 0), idleFor(10*time.Minute, poll)), leave, "NotNeeded", poll, false},
		{"no demand but busy", append(ten, demands(0, 0), idleFor(time.Hour, poll), func(s *seen) { s.nodeSet.Status.SlurmAllocated = 1 }), leave, "NotNeeded", poll, false},
		{"demand unknown when zero-after is over", append(ten, demandFails(errors.New("no")), idleFor(time.Hour, poll)), leave, "DemandUnknown", poll, false},
		{"demand old when zero-after is over", append(ten, demands(0, 3*time.Minute), idleFor(time.Hour, poll)), leave, "DemandUnknown", poll, false},
		{"zero-after with an HPA that can go to zero", append(ten, hpaFloor(0), demands(0, 0), idleFor(time.Hour, poll)), leave, "NotNeeded", 0, false},
		{"zero-after with an HPA that keeps two", append(ten, hpaFloor(2), demands(0, 0), idleFor(time.Hour, poll)), leave, "NotNeeded", 0, false},
		{"zero-after that would be for ever", append(ten, annotated(wake, "never"), demands(0, 0), idleFor(time.Hour, poll)), leave, "NeverWake", 0, false},
		{"zero-after that is no time", append(ten, annotated(zeroAfter, "soon"), demands(0, 0)), leave, "InvalidAnnotation", 0, false},
		{"zero-after that is no wait", append(ten, annotated(zeroAfter, "0s"), demands(0, 0)), leave, "InvalidAnnotation", 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := DefaultConfig().plan(now, saw(tc.seen...))
			if got.ask {
				t.Fatal("it asks for demand, which is there")
			}
			if n := written(got); n != tc.replicas {
				t.Errorf("replicas become %d, not %d", n, tc.replicas)
			}
			if got.claim != tc.claim {
				t.Errorf("it claims the zero: %v", got.claim)
			}
			if got.again != tc.again {
				t.Errorf("it looks again after %s, not %s", got.again, tc.again)
			}
			reason := ""
			if got.verdict != nil {
				reason = got.verdict.reason
			}
			if reason != tc.reason {
				t.Errorf("the reason is %q, not %q", reason, tc.reason)
			}
			if want := statuses[tc.reason]; reason != "" && got.verdict.status != want {
				t.Errorf("the status is %s, not %s", got.verdict.status, want)
			}
		})
	}
}

func TestTheOrderOfHPAsChangesNothing(t *testing.T) {
	both := func(names ...string) option {
		return func(s *seen) {
			s.hpas = nil
			for _, name := range names {
				s.hpas = append(s.hpas, *hpa(name))
			}
		}
	}
	cfg := DefaultConfig()
	one, other := cfg.plan(now, saw(both("a", "b"))), cfg.plan(now, saw(both("b", "a")))
	if *one.verdict != *other.verdict {
		t.Errorf("it says %+v, and %+v the other way round", one.verdict, other.verdict)
	}
}

// statuses is the status that belongs to each reason.
var statuses = map[string]metav1.ConditionStatus{
	"Woken": "True", "NotNeeded": "False", "Paused": "False", "NeverWake": "False", "NoAutoscaler": "False",
	"SeveralAutoscalers": "False", "TakenToZero": "False", "DemandUnknown": "Unknown", "InvalidAnnotation": "Unknown",
}

// written returns what replicas become, or leave.
func written(d todo) int {
	if d.replicas == nil {
		return leave
	}
	return int(*d.replicas)
}

func TestDemandIsAskedForOnlyWhenItDecides(t *testing.T) {
	for _, tc := range []struct {
		name string
		seen []option
		want bool
	}{
		{"at zero and asleep", nil, true},
		{"to go to zero", []option{at(1), hpaFloor(1), annotated(v1beta1.AnnotationZeroAfter, "1m")}, true},
		{"at zero with an HPA that is awake", []option{hpaAwake}, false},
		{"paused", []option{unowned}, false},
		{"above zero", []option{at(1)}, false},
		{"never to be woken", []option{annotated(v1beta1.AnnotationWake, "never")}, false},
		{"no HPA", []option{func(s *seen) { s.hpas = nil }}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := DefaultConfig().plan(now, saw(tc.seen...))
			if got.ask != tc.want {
				t.Errorf("it asks: %v", got.ask)
			}
			if got.ask && (got.replicas != nil || got.verdict != nil) {
				t.Errorf("it decides without the demand it asks for: %+v", got)
			}
		})
	}
}

func TestIdleTimeGoesOnOnlyWhileEveryLookFindsNoDemand(t *testing.T) {
	base := []option{at(2), hpaFloor(1), annotated(v1beta1.AnnotationZeroAfter, "1h"), idleFor(10*time.Minute, poll)}
	for _, tc := range []struct {
		name string
		seen option
		want idleTime
	}{
		{"no demand", demands(0, 0), idleTime{since: now.Add(-10 * time.Minute), last: now}},
		{"demand", demands(1, 0), idleTime{}},
		{"unknown", demandFails(errors.New("no")), idleTime{}},
		{"old", demands(0, time.Hour), idleTime{}},
		{"at zero", at(0), idleTime{}},
		{"not looked at for long", func(s *seen) { demands(0, 0)(s); idleFor(time.Hour, time.Hour)(s) }, idleTime{since: now, last: now}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := DefaultConfig().plan(now, saw(append(base, tc.seen)...)).idle; got != tc.want {
				t.Errorf("the idle time is %+v, not %+v", got, tc.want)
			}
		})
	}
}

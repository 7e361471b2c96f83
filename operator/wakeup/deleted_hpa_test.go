package wakeup

import (
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/scaling"
)

// before returns the creation of an HPA that existed when withUnseenZero's condition was written.
func before() time.Time { return now.Add(-time.Hour) }

func withCondition(status metav1.ConditionStatus, reason string) option {
	return withWakeUpCondition(status, reason, "some message")
}

func TestZeroOfDeletedHPA(t *testing.T) {
	setHPA := func(change func(*autoscalingv2.HorizontalPodAutoscaler)) option {
		return func(s *observation) { change(&s.hpas[0]) }
	}
	seen := func(generation int64) option { return func(s *observation) { s.nodeSet.Generation = generation } }
	for _, tc := range []struct {
		name  string
		also  []option // besides withUnseenZero
		claim bool
	}{
		{"began unseen, and the HPA is new", nil, true},
		{"began unseen after the operator woke the NodeSet", []option{withCondition("True", "Woken")}, true},
		{"began unseen while demand was unknown", []option{withCondition("Unknown", "DemandUnknown")}, true},
		{"began unseen, and the HPA has not reconciled", []option{withNewHPA}, true},
		{"without an HPA", []option{withoutHPA}, false},
		{"the last leader saw no HPA at this zero", []option{withCondition("Unknown", "NoAutoscaler")}, true},
		{"the last leader saw no HPA at a zero by hand", []option{withCondition("False", "NoAutoscaler")}, false},
		{"the last leader saw a pause", []option{withCondition("False", "Paused")}, false},
		{"the last leader saw the annotation never", []option{withCondition("False", "NeverWake")}, false},
		{"no leader wrote a condition", []option{func(s *observation) { s.nodeSet.Status.Conditions = nil }}, false},
		{"the last leader saw this zero", []option{seen(1)}, false},
		{"the time of the condition is unknown", []option{withoutOwner}, false},
		{"the HPA is the one of the condition", []option{setHPA(func(h *autoscalingv2.HorizontalPodAutoscaler) {
			h.CreationTimestamp = metav1.NewTime(before())
		})}, false},
		{"the HPA has scaled the NodeSet", []option{setHPA(func(h *autoscalingv2.HorizontalPodAutoscaler) {
			h.Status.LastScaleTime = new(metav1.NewTime(now))
		})}, false},
		{"the HPA never scales to zero", []option{withMinReplicas(1)}, false},
		{"the HPA has not reconciled since the zero", []option{
			withHPACondition(autoscalingv2.ScalingActive, "True", "ValidMetricFound")}, false},
		{"two HPAs", []option{func(s *observation) { s.hpas = append(s.hpas, s.hpas[0]) }}, false},
		{"this process saw the zero begin", []option{withHistory(scalingHistory{hadReplicas: true})}, false},
		{"this process saw the deleted HPA, which did not own the zero",
			[]option{withHistory(scalingHistory{oldestHPA: before()})}, false},
		{"this process saw the deleted HPA own the zero",
			[]option{withHistory(scalingHistory{oldestHPA: before(), hadReplicas: true, zeroOwner: "gone"})}, true},
		{"this process saw the HPA own the zero, and nothing replaced it",
			[]option{withoutHPA, withHistory(scalingHistory{zeroOwner: "gone"})}, true},
		{"the HPA that owned the zero exists and does not own it",
			[]option{withHistory(scalingHistory{zeroOwner: "uid-gpu"})}, false},
		{"claimed already", []option{withClaim, withHistory(scalingHistory{zeroOwner: "gone"})}, false},
		{"a manifest set the zero", []option{withOwner("helm"), withHistory(scalingHistory{zeroOwner: "gone"})}, false},
		{"replicas", []option{withReplicas(1), withHistory(scalingHistory{zeroOwner: "gone"})}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newObservation(append([]option{withUnseenZero, withDemand(3, 0)}, tc.also...)...)
			got := DefaultConfig().plan(now, s)
			if got.claimZero != tc.claim {
				t.Errorf("claimZero = %v, want %v: %+v", got.claimZero, tc.claim, got.condition)
			}
			if got.claimZero && (got.replicas != nil || got.requeueAfter == 0) {
				t.Errorf("the claim is not alone, or is not followed by another look: %+v", got)
			}
		})
	}
}

func TestHistoryOfZeros(t *testing.T) {
	owner, asleep, other := newHPA("a"), newHPA("a"), newHPA("b")
	owner.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{
		{Type: autoscalingv2.ScaledToZero, Status: "True"}}
	owner.CreationTimestamp, other.CreationTimestamp = metav1.NewTime(before()), metav1.NewTime(now)
	asleep.CreationTimestamp = owner.CreationTimestamp
	up, down := newObservation(withReplicas(1)).nodeSet, newObservation().nodeSet
	for _, tc := range []struct {
		name string
		seen []any
		want scalingHistory
	}{
		{"a zero of an HPA", []any{up, owner, down}, scalingHistory{"uid-a", before(), true}},
		{"and the HPA is replaced", []any{owner, down, other}, scalingHistory{"uid-a", before(), false}},
		{"and the HPA no longer owns the zero", []any{owner, asleep}, scalingHistory{"", before(), false}},
		{"and the NodeSet had replicas since", []any{owner, up, down}, scalingHistory{"", before(), true}},
		{"a zero by hand", []any{other, up, down}, scalingHistory{"", now, true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newScalingHistories(func() time.Time { return now })
			for _, o := range tc.seen {
				switch o := o.(type) {
				case *v1beta1.NodeSet:
					l.recordNodeSet(o)
				case *autoscalingv2.HorizontalPodAutoscaler:
					l.recordHPA(o)
				}
			}
			key := requestsForHPA(t.Context(), owner)[0].NamespacedName
			if got := l.historyOf(key); got != tc.want {
				t.Errorf("the history is %+v, want %+v", got, tc.want)
			}
			if l.forgetHistory(up); l.historyOf(key) != (scalingHistory{}) {
				t.Error("a deleted NodeSet is not forgotten")
			}
		})
	}
}

// TestZeroOfDeletedHPAIsWoken: an HPA scaled the NodeSet to zero while no operator ran, and was deleted and
// created again.
func TestZeroOfDeletedHPAIsWoken(t *testing.T) {
	r := newEnv(t, withUnseenZero)
	r.fake.required = 3
	r.reconcile(t)
	if r.expect(t, 0, "NotNeeded"); r.zeros != 1 || r.scales != 0 {
		t.Errorf("%d claims, %d writes to scale", r.zeros, r.scales)
	}
	r.reconcile(t)
	r.expect(t, 3, "Woken")
}

// TestZeroOfDeletedHPAIsKeptInMind: no HPA exists when the new operator reads first.
func TestZeroOfDeletedHPAIsKeptInMind(t *testing.T) {
	r := newEnv(t, withUnseenZero, withoutHPA)
	r.fake.required = 3
	for range 2 {
		r.reconcile(t)
		r.expect(t, 0, "NoAutoscaler")
	}
	hpa := newHPA("gpu")
	if err := r.Create(t.Context(), hpa); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.reconcile(t)
	}
	r.expect(t, 3, "Woken")
}

// TestConflictKeepsTheOriginOfTheZero: the condition is the evidence, so the claim is written before it.
func TestConflictKeepsTheOriginOfTheZero(t *testing.T) {
	r := newEnv(t, withUnseenZero)
	r.fake.required = 3
	r.conflict = true
	r.reconcile(t)
	if c := meta.FindStatusCondition(r.nodeSet(t).Status.Conditions, v1beta1.ConditionWakeUp); c.Message != "it has replicas" {
		t.Errorf("the condition was written before the claim: %+v", c)
	}
	for range 2 {
		r.reconcile(t)
	}
	r.expect(t, 3, "Woken")
}

// TestPauseIsKept: a user pauses while no operator runs; the HPA still exists, and reports that the zero is not its
// own.
func TestPauseIsKept(t *testing.T) {
	r := newEnv(t, withUnseenZero, func(s *observation) { s.hpas[0].CreationTimestamp = metav1.NewTime(before()) })
	r.fake.required = 3
	r.reconcile(t)
	if r.expect(t, 0, "Paused"); r.zeros+r.scales != 0 {
		t.Errorf("%d claims, %d writes to scale", r.zeros, r.scales)
	}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	if err := r.Get(t.Context(), requestsForHPA(t.Context(), newHPA("gpu"))[0].NamespacedName, hpa); err != nil {
		t.Fatal(err)
	}
	if err := r.Delete(t.Context(), hpa); err != nil {
		t.Fatal(err)
	}
	r.reconcile(t)
	r.expect(t, 0, "NoAutoscaler")
	if err := r.Create(t.Context(), newHPA("gpu")); err != nil {
		t.Fatal(err)
	}
	r.reconcile(t)
	if r.expect(t, 0, "Paused"); scaling.SpecReplicas(r.nodeSet(t)) != 0 || r.zeros != 0 {
		t.Errorf("%d claims", r.zeros)
	}
}

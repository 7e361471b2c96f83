package wakeup

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/scaling"
)

func pickOne[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// randomObservation returns a random observation.
func randomObservation(r *rand.Rand) observation {
	s := newObservation(withReplicas(pickOne[int32](r, 0, 0, 1, 3)), withMinReplicas(pickOne[int32](r, 0, 1, 1, 1, 2)))
	if v := pickOne(r, "", "", "", "", "", "always", "never", "x"); v != "" {
		withAnnotation(v1beta1.AnnotationWake, v)(&s)
	}
	if v := pickOne(r, "", "10m", "10m", "0", "x"); v != "" {
		withAnnotation(v1beta1.AnnotationZeroAfter, v)(&s)
	}
	if r.IntN(4) == 0 {
		isNew(&s)
	}
	s.hpas[0].Spec.MaxReplicas = pickOne[int32](r, 1, 2, 10)
	s.nodeSet.Spec.MaxReplicas = pickOne(r, nil, nil, nil, new(int32), new(int32(1)))
	s.nodeSet.Status.SlurmAllocated = pickOne[int32](r, 0, 0, 0, 2)
	pickOne(r, withoutOwner, withClaim, withOwner("helm"))(&s)
	if r.IntN(8) == 0 {
		s.nodeSet.ManagedFields = append(s.nodeSet.ManagedFields, replicasOwner("kubectl", "scale"))
	}
	for range r.IntN(3) {
		withHPACondition(pickOne(r, autoscalingv2.ScaledToZero, autoscalingv2.ScalingActive),
			pickOne(r, corev1.ConditionTrue, corev1.ConditionFalse),
			pickOne(r, "ScalingDisabled", "ValidMetricFound"))(&s)
	}
	withIdleTime(pickOne(r, 0, 9*time.Minute, time.Hour), pickOne(r, 0, time.Second, time.Hour))(&s)
	pickOne(r, withDemand(int64(r.IntN(20)), pickOne(r, 0, time.Minute, time.Hour, -time.Hour)), withDemand(0, 0),
		withDemand(0, 0), withDemand(3, 0), withDemandError(errors.New("no")))(&s)
	switch r.IntN(20) {
	case 0:
		s.hpas = nil
	case 1:
		s.hpas = append(s.hpas, *newHPA("other"))
	case 2:
		s.nodeSet.DeletionTimestamp = new(metav1.NewTime(now))
	case 3:
		s.nodeSet.Spec.ScalingMode = v1beta1.ScalingModeDaemonSet
	}
	return s
}

func TestReplicasAreWrittenOnlyForAReason(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cfg := DefaultConfig()
	woken, zeroed, begun := 0, 0, 0
	for range 50_000 {
		s := randomObservation(r)
		d := cfg.plan(now, s)
		if d.claimZero && (d.replicas != nil || scaling.SpecReplicas(s.nodeSet) != 0 ||
			!scaling.HasScaledToZero(&s.hpas[0])) {
			t.Fatalf("claimed a zero that is not the HPA's: %+v", s)
		}
		if d.replicas == nil {
			continue
		}
		n, was := *d.replicas, scaling.SpecReplicas(s.nodeSet)
		age := now.Sub(s.demand.at).Abs()
		switch {
		case len(s.hpas) != 1, s.nodeSet.DeletionTimestamp != nil,
			s.nodeSet.Spec.ScalingMode == v1beta1.ScalingModeDaemonSet:
			t.Fatalf("wrote to a NodeSet that we do not scale: %+v", s)
		case scaling.MayBeginAtZero(s.nodeSet, s.hpas, now):
			begun++
			if was != 1 || n != 0 || scaling.MinReplicas(&s.hpas[0]) != 0 || s.demand.err != nil || age > cfg.StaleAfter ||
				s.demand.required != 0 || s.nodeSet.Status.SlurmAllocated != 0 {
				t.Fatalf("%d replicas become %d at the beginning: %+v", was, n, s)
			}
		case s.demand.err != nil, age > cfg.StaleAfter:
			t.Fatalf("wrote although the demand is unknown: %+v", s)
		case s.nodeSet.Annotations[v1beta1.AnnotationWake] == v1beta1.WakeNever:
			t.Fatalf("wrote against the annotation: %+v", s)
		case was == 0 && n == 0:
			t.Fatalf("wrote without a reason: %+v", s)
		case was == 0:
			woken++
			own := s.nodeSet.Spec.MaxReplicas
			if n < 0 || n > s.hpas[0].Spec.MaxReplicas || own != nil && n > *own || int64(n) > max(s.demand.required, int64(scaling.MinReplicas(&s.hpas[0]))) {
				t.Fatalf("set to %d: %+v", n, s)
			}
		case n != 0:
			t.Fatalf("%d replicas become %d: %+v", was, n, s)
		default:
			zeroed++
			if s.nodeSet.Annotations[v1beta1.AnnotationZeroAfter] != "10m" || s.demand.required != 0 ||
				s.nodeSet.Status.SlurmAllocated != 0 ||
				now.Sub(s.idle.since) < 10*time.Minute || scaling.MinReplicas(&s.hpas[0]) != 1 {
				t.Fatalf("taken to zero: %+v", s)
			}
		}
		if d.condition == nil || d.requeueAfter == 0 {
			t.Fatalf("wrote without a condition or a requeue: %+v", d)
		}
	}
	if woken < 100 || zeroed < 100 || begun < 50 {
		t.Errorf("only %d were woken, %d scaled to zero and %d begun: the test covers too little", woken, zeroed, begun)
	}
}

func TestActionsAreNotRepeated(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	cfg := DefaultConfig()
	for range 30_000 {
		s := randomObservation(r)
		first := cfg.plan(now, s)
		if first.replicas == nil && !first.claimZero {
			continue
		}
		if first.replicas != nil {
			s.nodeSet.Spec.Replicas = first.replicas
			s.nodeSet.Generation++
		}
		withClaim(&s)
		s.idle = first.idle
		withWakeUpCondition(first.condition.status, first.condition.reason, first.condition.message)(&s)
		second := cfg.plan(now, s)
		if second.replicas != nil || second.claimZero {
			t.Fatalf("replicas are written again: %+v, then %+v", first, second)
		}
	}
}

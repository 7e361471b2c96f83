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
)

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// anything returns what might be seen.
func anything(r *rand.Rand) seen {
	s := saw(at(pick[int32](r, 0, 0, 1, 3)), hpaFloor(pick[int32](r, 0, 1, 1, 1, 2)))
	if v := pick(r, "", "", "", "", "", "always", "never", "x"); v != "" {
		annotated(v1beta1.AnnotationWake, v)(&s)
	}
	if v := pick(r, "", "10m", "10m", "0", "x"); v != "" {
		annotated(v1beta1.AnnotationZeroAfter, v)(&s)
	}
	s.hpas[0].Spec.MaxReplicas = pick[int32](r, 1, 2, 10)
	s.nodeSet.Spec.MaxReplicas = pick(r, nil, nil, nil, new(int32), new(int32(1)))
	s.nodeSet.Status.SlurmAllocated = pick[int32](r, 0, 0, 0, 2)
	pick(r, unowned, claimed, ownedBy("helm"))(&s)
	if r.IntN(8) == 0 {
		s.nodeSet.ManagedFields = append(s.nodeSet.ManagedFields, owner("kubectl", "scale"))
	}
	for range r.IntN(3) {
		hpaSays(pick(r, autoscalingv2.ScaledToZero, autoscalingv2.ScalingActive), pick(r, corev1.ConditionTrue, corev1.ConditionFalse),
			pick(r, "ScalingDisabled", "ValidMetricFound"))(&s)
	}
	idleFor(pick(r, 0, 9*time.Minute, time.Hour), pick(r, 0, time.Second, time.Hour))(&s)
	pick(r, demands(int64(r.IntN(20)), pick(r, 0, time.Minute, time.Hour, -time.Hour)), demands(0, 0), demands(0, 0), demands(3, 0), demandFails(errors.New("no")))(&s)
	switch r.IntN(20) {
	case 0:
		s.hpas = nil
	case 1:
		s.hpas = append(s.hpas, *hpa("other"))
	case 2:
		s.nodeSet.DeletionTimestamp = new(metav1.NewTime(now))
	case 3:
		s.nodeSet.Spec.ScalingMode = v1beta1.ScalingModeDaemonSet
	}
	return s
}

func TestWhateverIsSeenReplicasAreWrittenOnlyForAReason(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cfg := DefaultConfig()
	woken, zeroed := 0, 0
	for range 50_000 {
		s := anything(r)
		d := cfg.plan(now, s)
		if d.claim && (d.replicas != nil || replicas(s.nodeSet) != 0 || !tookToZero(&s.hpas[0])) {
			t.Fatalf("claimed what is not the HPA's: %+v", s)
		}
		if d.replicas == nil {
			continue
		}
		n, was := *d.replicas, replicas(s.nodeSet)
		age := now.Sub(s.demand.at).Abs()
		switch {
		case len(s.hpas) != 1, s.nodeSet.DeletionTimestamp != nil, s.nodeSet.Spec.ScalingMode == v1beta1.ScalingModeDaemonSet:
			t.Fatalf("written to a NodeSet that is none of ours: %+v", s)
		case s.demand.err != nil, age > cfg.StaleAfter:
			t.Fatalf("written without knowing the demand: %+v", s)
		case s.nodeSet.Annotations[v1beta1.AnnotationWake] == v1beta1.WakeNever:
			t.Fatalf("written against the annotation: %+v", s)
		case was == 0 && n == 0:
			t.Fatalf("written for nothing: %+v", s)
		case was == 0:
			woken++
			own := s.nodeSet.Spec.MaxReplicas
			if n < 0 || n > s.hpas[0].Spec.MaxReplicas || own != nil && n > *own || int64(n) > s.demand.required {
				t.Fatalf("set to %d: %+v", n, s)
			}
		case n != 0:
			t.Fatalf("%d replicas become %d: %+v", was, n, s)
		default:
			zeroed++
			if s.nodeSet.Annotations[v1beta1.AnnotationZeroAfter] != "10m" || s.demand.required != 0 || s.nodeSet.Status.SlurmAllocated != 0 ||
				now.Sub(s.idle.since) < 10*time.Minute || floorOf(&s.hpas[0]) != 1 {
				t.Fatalf("taken to zero: %+v", s)
			}
		}
		if d.verdict == nil || d.again == 0 {
			t.Fatalf("written without a word or a second look: %+v", d)
		}
	}
	if woken < 100 || zeroed < 100 {
		t.Errorf("only %d were woken and %d taken to zero: the test looks at too little", woken, zeroed)
	}
}

func TestWhatWasDoneIsNotDoneAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	cfg := DefaultConfig()
	for range 30_000 {
		s := anything(r)
		first := cfg.plan(now, s)
		if first.replicas == nil && !first.claim {
			continue
		}
		if first.replicas != nil {
			s.nodeSet.Spec.Replicas = first.replicas
		}
		claimed(&s)
		s.idle = first.idle
		condition(first.verdict.status, first.verdict.reason, first.verdict.message)(&s)
		second := cfg.plan(now, s)
		if second.replicas != nil || second.claim {
			t.Fatalf("replicas are written again: %+v, then %+v", first, second)
		}
	}
}

package wakeup

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/scaling"
)

func TestWakeUp(t *testing.T) {
	r := newEnv(t)
	if got := r.reconcile(t); got.RequeueAfter != pollInterval {
		t.Errorf("it requeues after %s", got.RequeueAfter)
	}
	r.expect(t, 0, "NotNeeded")
	r.fake.required = 3
	r.reconcile(t)
	r.expect(t, 3, "Woken")
	want := "Normal Woken it was at zero with HPA gpu asleep and needed 3: set to 3"
	if got := <-r.events.Events; got != want {
		t.Errorf("the event is %q", got)
	}
	if got := r.reconcile(t); got.RequeueAfter != 0 {
		t.Errorf("it requeues after %s", got.RequeueAfter)
	}
	if r.scales != 1 || r.patches != 2 || r.fake.requests != 2 {
		t.Errorf("%d writes to scale, %d to status, %d readings of demand", r.scales, r.patches, r.fake.requests)
	}
}

func TestScaleToZero(t *testing.T) {
	r := newEnv(t, withReplicas(2), withMinReplicas(1), withAnnotation(v1beta1.AnnotationZeroAfter, "1m"))
	for range 12 {
		r.reconcile(t)
		r.expect(t, 2, "NotNeeded")
		r.now = r.now.Add(pollInterval)
	}
	if r.patches != 1 {
		t.Errorf("waiting wrote the status %d times", r.patches)
	}
	r.reconcile(t)
	r.expect(t, 0, "TakenToZero")
	if got := <-r.events.Events; !strings.HasPrefix(
		got, "Normal TakenToZero it was scaled to zero after it was idle (1m0s)") {
		t.Errorf("the event is %q", got)
	}
}

func TestZeroOfAnHPAIsClaimed(t *testing.T) {
	r := newEnv(t, withoutOwner, withAwakeHPA)
	r.reconcile(t)
	r.reconcile(t)
	if r.zeros != 1 || r.scales != 0 || r.patches != 1 || len(r.events.Events) != 0 {
		t.Errorf("%d claims, %d writes to scale, %d to status, %d events", r.zeros, r.scales, r.patches,
			len(r.events.Events))
	}
	r.expect(t, 0, "NotNeeded")
}

func TestUnknownDemandRestartsTheIdleTime(t *testing.T) {
	r := newEnv(t, withReplicas(2), withMinReplicas(1), withAnnotation(v1beta1.AnnotationZeroAfter, "1m"))
	r.reconcile(t)
	r.now = r.now.Add(50 * time.Second)
	r.fake.err = errors.New("slurmrestd does not answer")
	r.reconcile(t)
	r.expect(t, 2, "DemandUnknown")
	r.fake.err = nil
	for _, after := range []time.Duration{pollInterval, 55 * time.Second} {
		r.now = r.now.Add(after)
		r.reconcile(t)
		r.expect(t, 2, "NotNeeded")
	}
	r.now = r.now.Add(pollInterval)
	r.reconcile(t)
	r.expect(t, 0, "TakenToZero")
}

func TestConflictIsRetried(t *testing.T) {
	r := newEnv(t)
	r.fake.required = 3
	r.conflict = true
	if got := r.reconcile(t); got.RequeueAfter != kube.ConflictRetryDelay {
		t.Errorf("it requeues after %s", got.RequeueAfter)
	}
	if got := r.nodeSet(t); scaling.SpecReplicas(got) != 0 || len(r.events.Events) != 0 {
		t.Errorf("there are %d replicas and %d events", scaling.SpecReplicas(got), len(r.events.Events))
	}
	for range 2 {
		r.reconcile(t)
		r.expect(t, 3, "Woken")
	}
	if r.scales != 1 || len(r.events.Events) != 1 {
		t.Errorf("%d writes to scale, %d events", r.scales, len(r.events.Events))
	}
}

func TestConflictDoesNotRestartTheIdleTime(t *testing.T) {
	r := newEnv(t, withReplicas(2), withMinReplicas(1), withAnnotation(v1beta1.AnnotationZeroAfter, "1m"))
	r.reconcile(t)
	r.now = r.now.Add(time.Minute)
	r.conflict = true
	r.reconcile(t)
	if n := scaling.SpecReplicas(r.nodeSet(t)); n != 2 {
		t.Fatalf("there are %d replicas", n)
	}
	r.now = r.now.Add(kube.ConflictRetryDelay)
	r.reconcile(t)
	r.expect(t, 0, "TakenToZero")
}

func TestConditionKeepsTheRestOfTheStatus(t *testing.T) {
	ready := metav1.Condition{Type: "Ready", Status: "True", Reason: "Available",
		LastTransitionTime: metav1.NewTime(now)}
	r := newEnv(t, func(s *observation) {
		s.nodeSet.Status = v1beta1.NodeSetStatus{Selector: "a=b", NodeSetHash: "x", SlurmIdle: 2,
			Conditions: []metav1.Condition{ready}}
	})
	r.reconcile(t)
	got := r.nodeSet(t).Status
	if !meta.RemoveStatusCondition(&got.Conditions, v1beta1.ConditionWakeUp) {
		t.Error("the condition is missing")
	}
	got.Conditions[0].LastTransitionTime = metav1.NewTime(now)
	want := v1beta1.NodeSetStatus{Selector: "a=b", NodeSetHash: "x", SlurmIdle: 2,
		Conditions: []metav1.Condition{ready}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestConditionIsRemovedWithTheHPA(t *testing.T) {
	r := newEnv(t, withReplicas(2), withWakeUpCondition("False", "NotNeeded", "it has replicas"),
		func(s *observation) { s.hpas = nil })
	r.reconcile(t)
	if got := r.nodeSet(t).Status.Conditions; len(got) != 0 {
		t.Errorf("the conditions are %+v", got)
	}
}

func TestDeletedNodeSetsAreForgotten(t *testing.T) {
	r := newEnv(t, withReplicas(2), withMinReplicas(1), withAnnotation(v1beta1.AnnotationZeroAfter, "1m"))
	r.reconcile(t)
	if err := r.Delete(t.Context(), r.nodeSet(t)); err != nil {
		t.Fatal(err)
	}
	if got := r.reconcile(t); got != (ctrl.Result{}) {
		t.Errorf("it requeues: %+v", got)
	}
	if len(r.idle.times) != 0 {
		t.Error("its idle time is kept")
	}
}

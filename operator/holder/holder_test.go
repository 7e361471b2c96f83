package holder

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

const (
	replicas = `{"f:status":{"f:replicas":{}}}`
	ready    = `{"f:status":{"f:conditions":{".":{},"k:{\"type\":\"Ready\"}":{".":{},"f:type":{}}}}}`
	ofOthers = `{"f:status":{".":{},"f:conditions":{".":{},"k:{\"type\":\"Audited\"}":{".":{},"f:type":{}}}}}`
)

// entry returns an entry of a write that was some time before noon.
func entry(manager, subresource string, before time.Duration, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Time: new(metav1.NewTime(noon.Add(-before))),
		Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(fields)}
}

// newNodeSet returns a NodeSet with managed fields.
func newNodeSet(entries ...metav1.ManagedFieldsEntry) *v1beta1.NodeSet {
	return &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "gpu", Generation: 3,
		ManagedFields: entries}}
}

// withReady adds a condition Ready whose transition was some time before noon.
func withReady(n *v1beta1.NodeSet, reason string, before time.Duration) *v1beta1.NodeSet {
	n.Status.Conditions = append(n.Status.Conditions, metav1.Condition{Type: v1beta1.ConditionReady, Reason: reason,
		LastTransitionTime: metav1.NewTime(noon.Add(-before))})
	return n
}

// withTakeOver adds the annotation.
func withTakeOver(n *v1beta1.NodeSet, value string) *v1beta1.NodeSet {
	n.Annotations = map[string]string{v1beta1.AnnotationTakeOver: value}
	return n
}

func TestOf(t *testing.T) {
	const minute, hour = time.Minute, time.Hour
	theirs := func(before time.Duration) metav1.ManagedFieldsEntry {
		return entry("manager", "status", before, replicas)
	}
	ours := func(before time.Duration) metav1.ManagedFieldsEntry {
		return entry("slurm-operator-nodeset", "status", before, replicas)
	}
	for _, tc := range []struct {
		name   string
		object *v1beta1.NodeSet
		// want is the reason, or empty.
		want   string
		freeIn time.Duration
	}{
		{"a new object", newNodeSet(), "", 0},
		{"our object", newNodeSet(ours(minute)), "", 0},
		{"an object that a reconciler of an older release of ours wrote", newNodeSet(entry("slurm-operator-workers", "status",
			minute, replicas)), "", 0},
		{"another operator wrote lately", newNodeSet(theirs(10 * minute)), v1beta1.ReasonHeldByAnotherOperator, 50 * minute},
		{"both wrote lately", newNodeSet(theirs(10*minute), ours(minute)), v1beta1.ReasonHeldByAnotherOperator, 50 * minute},
		{"its clock is ahead", newNodeSet(theirs(-minute)), v1beta1.ReasonHeldByAnotherOperator, 61 * minute},
		{"it wrote its own finalizer lately, the status before", newNodeSet(theirs(2*hour),
			entry("manager", "", minute, `{"f:metadata":{"f:finalizers":{}}}`)), v1beta1.ReasonHeldByAnotherOperator, 59 * minute},
		{"an unknown operator wrote lately", newNodeSet(entry("fork", "status", minute, replicas)),
			v1beta1.ReasonHeldByAnotherOperator, 59 * minute},
		{"an unknown operator writes the condition Ready", newNodeSet(entry("fork", "status", minute, ready)),
			v1beta1.ReasonHeldByAnotherOperator, 59 * minute},
		{"a platform writes a condition of its own", newNodeSet(entry("platform", "status", minute, ofOthers)), "", 0},
		{"fields that cannot be read", newNodeSet(entry("fork", "status", minute, "")),
			v1beta1.ReasonHeldByAnotherOperator, 59 * minute},
		{"somebody edits the status", newNodeSet(entry("kubectl-edit", "status", minute, replicas)), "", 0},
		{"a backup is restored", newNodeSet(entry("velero-server", "status", minute, replicas)), "", 0},
		{"an HPA scales", newNodeSet(entry("kube-controller-manager", "scale", minute, `{"f:spec":{"f:replicas":{}}}`)), "", 0},
		{"Helm installs", newNodeSet(entry("helm", "", minute, `{"f:spec":{"f:replicas":{}}}`)), "", 0},
		{"Flux and Argo CD apply", newNodeSet(entry("kustomize-controller", "", minute, `{"f:spec":{}}`),
			entry("argocd-controller", "", minute, `{"f:spec":{}}`)), "", 0},

		{"it wrote over an hour ago, we never", newNodeSet(theirs(hour)), v1beta1.ReasonTakingOver, Trial},
		{"it wrote over an hour ago, we before that", newNodeSet(theirs(2*hour), ours(3*hour)), v1beta1.ReasonTakingOver, Trial},
		{"it wrote over an hour ago, we later", newNodeSet(theirs(2*hour), ours(hour+minute)), "", 0},
		{"a trial", withReady(newNodeSet(theirs(2*hour), ours(minute)), v1beta1.ReasonTakingOver, minute),
			v1beta1.ReasonTakingOver, minute},
		{"a trial has ended", withReady(newNodeSet(theirs(2*hour), ours(2*minute)), v1beta1.ReasonTakingOver, 2*minute), "", 0},
		{"it wrote during the trial", withReady(newNodeSet(theirs(minute), ours(2*minute)), v1beta1.ReasonTakingOver, 2*minute),
			v1beta1.ReasonHeldByAnotherOperator, 59 * minute},
		{"a trial before its last write proves nothing", withReady(newNodeSet(theirs(2*hour), ours(3*hour)),
			v1beta1.ReasonTakingOver, 3*hour), v1beta1.ReasonTakingOver, Trial},

		{"somebody has it taken over", withTakeOver(newNodeSet(theirs(minute)), "2030-01-01T12:00:00Z"), "", 0},
		{"in another zone", withTakeOver(newNodeSet(theirs(minute)), "2030-01-01T13:00:00+01:00"), "", 0},
		{"it wrote again after that", withTakeOver(newNodeSet(theirs(minute)), "2030-01-01T11:58:00Z"),
			v1beta1.ReasonHeldByAnotherOperator, 59 * minute},
		{"the time is ahead", withTakeOver(newNodeSet(theirs(minute)), "2031-01-01T12:00:00Z"),
			v1beta1.ReasonHeldByAnotherOperator, 59 * minute},
		{"no time", withTakeOver(newNodeSet(theirs(minute)), "true"), v1beta1.ReasonHeldByAnotherOperator, 59 * minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, held := Of(noon, tc.object)
			if held != (tc.want != "") {
				t.Fatalf("held is %t: %+v", held, got)
			}
			if held && (got.Reason != tc.want || got.FreeAt.Sub(noon) != tc.freeIn) {
				t.Errorf("the hold is %s for %v, not %s for %v", got.Reason, got.FreeAt.Sub(noon), tc.want, tc.freeIn)
			}
		})
	}
}

// TestSetReady: each reason is reported once, and a trial begins with a withdrawn observedGeneration.
func TestSetReady(t *testing.T) {
	n := newNodeSet()
	n.Status.ObservedGeneration = 3
	hold := Hold{Reason: v1beta1.ReasonHeldByAnotherOperator, Manager: "manager", WroteAt: noon.Add(-time.Minute)}
	report := func(now time.Time) *metav1.Condition {
		SetReady(now, n, hold)
		return meta.FindStatusCondition(n.Status.Conditions, v1beta1.ConditionReady)
	}
	first := *report(noon)
	if first.Status != metav1.ConditionFalse || first.ObservedGeneration != 3 || n.Status.ObservedGeneration != 3 ||
		!strings.Contains(first.Message, "2030-01-01T11:59:00Z") {
		t.Errorf("the condition is %+v, the generation %d", first, n.Status.ObservedGeneration)
	}
	hold.WroteAt = noon
	if again := *report(noon.Add(time.Minute)); again != first {
		t.Errorf("a further write of the other operator makes %+v of it", again)
	}
	hold.Reason = v1beta1.ReasonTakingOver
	trial := *report(noon.Add(2 * time.Hour))
	if trial.Status != metav1.ConditionUnknown || n.Status.ObservedGeneration != 0 ||
		!trial.LastTransitionTime.Time.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("the trial is %+v, the generation %d", trial, n.Status.ObservedGeneration)
	}
	if again := *report(noon.Add(2*time.Hour + time.Minute)); again != trial {
		t.Errorf("the trial is reported again as %+v", again)
	}
	hold.WroteAt = noon.Add(3 * time.Hour)
	if again := *report(noon.Add(5 * time.Hour)); !again.LastTransitionTime.Time.Equal(noon.Add(5 * time.Hour)) {
		t.Errorf("the next trial began at %s", again.LastTransitionTime)
	}
}

package doctor

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// writtenBy adds a write of the status some time ago.
func writtenBy(o metav1.Object, manager string, ago time.Duration) {
	o.SetManagedFields(append(o.GetManagedFields(), metav1.ManagedFieldsEntry{Manager: manager, Subresource: "status",
		Time:     new(metav1.NewTime(now.Add(-ago))),
		FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:replicas":{}}}`)}))
}

// brokenHolderCases are faults of objects on which another operator works.
func brokenHolderCases() []brokenCase {
	const ours = "slurm-operator-nodeset"
	reported := func(reason string) []metav1.Condition {
		return []metav1.Condition{{Type: "Ready", Status: "False", Reason: reason}}
	}
	return []brokenCase{
		{"two operators write a NodeSet", func(s *Observed) {
			writtenBy(&s.NodeSets[0], "manager", 2*time.Minute)
			writtenBy(&s.NodeSets[0], ours, time.Minute)
		}, []Code{TwoOperators}},
		{"two operators write a LoginSet", func(s *Observed) {
			s.LoginSets = make([]v1beta1.LoginSet, 1)
			s.LoginSets[0].Namespace, s.LoginSets[0].Name = "hpc", "login"
			writtenBy(&s.LoginSets[0], "manager", 2*time.Minute)
			writtenBy(&s.LoginSets[0], "slurm-operator-loginset", time.Minute)
		}, []Code{TwoOperators}},
		{"ours wrote long ago", func(s *Observed) {
			writtenBy(&s.NodeSets[0], "manager", 2*time.Minute)
			writtenBy(&s.NodeSets[0], ours, 2*time.Hour)
		}, nil},
		{"the other one wrote long ago", func(s *Observed) {
			writtenBy(&s.NodeSets[0], "manager", 2*time.Hour)
			writtenBy(&s.NodeSets[0], ours, time.Minute)
		}, nil},
		{"a take-over", func(s *Observed) {
			writtenBy(&s.NodeSets[0], "manager", 2*time.Minute)
			writtenBy(&s.NodeSets[0], ours, time.Minute)
			s.NodeSets[0].Annotations = map[string]string{v1beta1.AnnotationTakeOver: now.Format(time.RFC3339)}
		}, nil},
		{"ours leaves a NodeSet alone", func(s *Observed) {
			writtenBy(&s.NodeSets[0], "manager", 2*time.Minute)
			writtenBy(&s.NodeSets[0], ours, time.Minute)
			s.NodeSets[0].Status.Conditions = reported(v1beta1.ReasonHeldByAnotherOperator)
		}, []Code{HeldByAnotherOperator}},
		{"ours leaves a Cluster alone", func(s *Observed) {
			writtenBy(&s.Clusters[0], "manager", 2*time.Minute)
			s.Clusters[0].Status.Conditions = reported(v1beta1.ReasonHeldByAnotherOperator)
		}, []Code{HeldByAnotherOperator}},
		{"the adapter beside another operator alone", func(s *Observed) {
			writtenBy(&s.NodeSets[0], "manager", 2*time.Minute)
			s.Operator.Leases = nil
		}, nil},
	}
}

// TestTheCommandTakesOver: the command of the finding names the object and the present time.
func TestTheCommandTakesOver(t *testing.T) {
	s := newHealthy()
	brokenHolderCases()[5].breakIt(s)
	want := "kubectl -n hpc annotate --overwrite nodesets.slinky.slurm.net gpu slinky.slurm.net/take-over=2030-01-01T12:00:00Z"
	got := Examine(*s, nil).Findings
	if len(got) != 1 || got[0].Command != want || !strings.Contains(got[0].Problem, `"manager"`) {
		t.Errorf("found %+v", got)
	}
}

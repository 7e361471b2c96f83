package behaviour

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/operator/nodeset"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
)

// holdSince restarts the operator after Slinky's operator wrote the status some time ago. more are additional entries.
func (r *testEnv) holdSince(ago time.Duration, more ...metav1.ManagedFieldsEntry) {
	more = append(more, kubetest.WrittenBySlinky(r.now.Add(-ago)))
	r.restartWithCache(kubetest.WithManagedFields(r.Client, more...))
}

// TestANodeSetThatAnotherOperatorHoldsIsLeftAlone: no pod, Slurm node or other object is written, whatever is due.
func TestANodeSetThatAnotherOperatorHoldsIsLeftAlone(t *testing.T) {
	for _, tc := range []struct {
		name string
		todo func(r *testEnv)
	}{
		{"there are too few workers", func(r *testEnv) { r.scale(4) }},
		{"there are too many workers", func(r *testEnv) { r.scale(0) }},
		{"workers are outdated", func(r *testEnv) {
			r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "Weight=5" })
		}},
		{"it is being deleted", func(r *testEnv) { r.must(r.Delete(t.Context(), r.nodeSet())) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(2))
			r.startWorkers()
			tc.todo(r)
			r.clearWrites()
			r.holdSince(time.Minute)
			for range 3 {
				r.pollAndReconcile()
			}
			expectStrings(t, "the writes", r.writes, "patch status NodeSet gpu")
			expectStrings(t, "the calls", r.slurm.Calls)
			r.expectCondition("Ready", metav1.ConditionFalse, v1beta1.ReasonHeldByAnotherOperator)
			r.restart()
			r.pollAndReconcile()
			if len(r.writes) < 2 {
				t.Errorf("when it is free the writes are %q", r.writes)
			}
		})
	}
}

// TestATrialPrecedesTheFirstWrite: an operator that wrote nothing for an hour may still run.
func TestATrialPrecedesTheFirstWrite(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2))
	r.holdSince(2 * time.Hour)
	r.pollAndReconcile()
	r.pollAndReconcile()
	expectStrings(t, "the writes", r.writes, "patch status NodeSet gpu")
	r.expectCondition("Ready", metav1.ConditionUnknown, v1beta1.ReasonTakingOver)
	r.now = r.now.Add(2 * time.Minute)
	if r.pollAndReconcile(); len(r.writes) < 2 {
		t.Fatalf("after the trial the writes are %q", r.writes)
	}
	ours := kubetest.WrittenBySlinky(r.now)
	ours.Manager = nodeset.FieldManager
	r.holdSince(2*time.Hour, ours)
	r.startWorkers()
	if got := r.podNames(); got != "gpu-0 gpu-1" {
		t.Errorf("after the trial the pods are %q", got)
	}
	r.expectCondition("Ready", metav1.ConditionTrue, v1beta1.ReasonAvailable)
}

package behaviour

import (
	"errors"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// newSurplusEnv returns a NodeSet without workers and with four FUTURE records. Two of them have long been surplus:
// the next reconciliation deletes them.
func newSurplusEnv(t *testing.T) *testEnv {
	r := newTestEnv(t, nodesettest.NewNodeSet(0, nodesettest.WithMaxReplicas(4),
		func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "CPUs=4" }))
	r.settle()
	r.change(nodesettest.WithMaxReplicas(2))
	r.pollAndReconcile()
	r.now = r.now.Add(5*time.Minute - 10*time.Second)
	r.clearWrites()
	return r
}

// pendingJob returns a job that waits for nodes of the partition of the records.
func pendingJob(nodes uint64) []*slurm.Job {
	return []*slurm.Job{{ID: 5, Partition: "all", NodeCount: slurm.Num(nodes), State: slurm.JobState{Base: slurm.JobPending}}}
}

func TestRecordsThatAPendingJobNeedsStayUntilItHasEnded(t *testing.T) {
	r := newSurplusEnv(t)
	r.slurm.Waiting = pendingJob(4)
	r.pollAndReconcile()
	want := "the record of Slurm node gpu-2 stays, because job 5 needs 4 nodes of partition all; 1 more stay"
	if c := r.expectCondition("Draining", "True", "RecordsLeft"); c.Message != want {
		t.Errorf("the message is %q, want %q", c.Message, want)
	}
	r.clearWrites()
	for range 3 {
		r.pollAndReconcile()
	}
	expectStrings(t, "the calls", r.slurm.Calls)
	expectStrings(t, "the writes", r.writes)
	expectStrings(t, "the events", r.takeEvents())
	r.slurm.Waiting = nil
	r.pollAndReconcile()
	expectStrings(t, "the calls", r.slurm.Calls, "delete gpu-2", "delete gpu-3")
	r.pollAndReconcile()
	r.expectCondition("Draining", "False", "NotDraining")
}

// TestTheLastLookFindsAPendingJob: the job comes after the reading on which the plan rests.
func TestTheLastLookFindsAPendingJob(t *testing.T) {
	r := newSurplusEnv(t)
	r.now = r.now.Add(10 * time.Second)
	r.slurm.Poll()
	r.slurm.Waiting = pendingJob(4)
	if got := r.reconcile(); got.RequeueAfter == 0 {
		t.Error("it is not reconciled again soon")
	}
	expectStrings(t, "the calls", r.slurm.Calls)
	r.slurm.Waiting = pendingJob(2)
	r.pollAndReconcile()
	expectStrings(t, "the calls", r.slurm.Calls, "delete gpu-2", "delete gpu-3")
}

func TestRecordsStayWhileTheLastLookFails(t *testing.T) {
	r := newSurplusEnv(t)
	r.slurm.Fail["references"] = errors.New("PrivateData hides jobs")
	r.now = r.now.Add(10 * time.Second)
	r.slurm.Poll()
	_, _ = r.Reconcile(t.Context(), request)
	expectStrings(t, "the calls", r.slurm.Calls)
	r.slurm.Fail = map[string]error{}
	r.pollAndReconcile()
	expectStrings(t, "the calls", r.slurm.Calls, "delete gpu-2", "delete gpu-3")
}

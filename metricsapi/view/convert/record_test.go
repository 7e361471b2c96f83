package convert

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func ptr[T any](v T) *T { return &v }

func TestJobIsSlurmsRecord(t *testing.T) {
	submitted := time.Unix(1_800_000_000, 0)
	unlimited := intstr.FromString("unlimited")
	v := &v1alpha1.SlurmJob{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(submitted)},
		Spec: v1alpha1.SlurmJobSpec{
			JobID: 7, User: "alice", Partitions: []string{"gpu", "cpu"}, TimeLimitMinutes: &unlimited,
			ArrayJobID: 7, ArrayTasks: "2-9%2", ArrayMaxRunning: 2, MemoryPerCPUMiB: ptr(int64(100)),
			TRESPerNode: "gres/gpu:4",
		},
		Status: v1alpha1.SlurmJobStatus{State: "PENDING", Flags: []string{"REQUEUED"}, Reason: "Resources",
			NodeCount: ptr(int64(1)), Priority: ptr(int64(0))},
	}
	want := &slurm.Job{
		ID: 7, SharedOwner: slurm.ShareOwner(slurm.JobOwner{UserName: "alice"}), Partition: "gpu,cpu", TimeLimit: slurm.Infinite(), ArrayJobID: 7,
		ArrayTasks: "2-9%2", MemoryPerCPU: slurm.Num(100),
		SharedDetails: slurm.ShareDetails(slurm.JobDetails{ArrayMaxRunning: 2, TRESPerNode: "gres/gpu:4", ExitCode: slurm.Num(0)}),
		State:         slurm.JobState{Base: slurm.JobPending, Flags: slurm.JobRequeued},
		Reason:        "Resources", NodeCount: slurm.Num(1), Priority: slurm.Num(0), SubmitTime: slurm.At(submitted),
	}
	if diff := cmp.Diff(want, JobRecord(v)); diff != "" {
		t.Error(diff)
	}
}

func TestNodeIsSlurmsRecord(t *testing.T) {
	v := &v1alpha1.SlurmNode{
		Spec:   v1alpha1.SlurmNodeSpec{Name: "n1", CPUs: 8, MemoryMiB: 16000, GRES: "gpu:4", Features: []string{"gpu"}},
		Status: v1alpha1.SlurmNodeStatus{States: []string{"IDLE", "DRAIN"}, EffectiveCPUs: 7, Reason: "broken"},
	}
	want := &slurm.Node{
		Name: "n1", CPUs: 8, EffectiveCPUs: 7, MemoryMiB: 16000, GRES: "gpu:4", Features: []string{"gpu"},
		State: slurm.NodeState{Base: slurm.NodeIdle, Flags: slurm.NodeDrain}, Reason: "broken",
	}
	if diff := cmp.Diff(want, NodeRecord(v)); diff != "" {
		t.Error(diff)
	}
}

func TestLimitsAreReadAsTheyAreWritten(t *testing.T) {
	for _, n := range []slurm.Number{
		{}, slurm.Infinite(), slurm.Num(0), slurm.Num(90), slurm.Num(math.MaxInt32), slurm.Num(math.MaxInt32 + 1),
	} {
		if got := parseLimit(formatLimit(n)); got != n {
			t.Errorf("%v is read as %v", n, got)
		}
	}
	for text, want := range map[string]slurm.Number{
		"unlimited": slurm.Infinite(), "UNLIMITED": slurm.Infinite(), "3000000000": slurm.Num(3_000_000_000),
		"": {}, "soon": {}, "-1": {},
	} {
		limit := intstr.FromString(text)
		if got := parseLimit(&limit); got != want {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

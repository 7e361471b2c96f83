package demand_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// largeSnapshot has 10,000 nodes and 100,000 job records in 50 partitions: most of
// the queue waits, in a few hundred shapes that alternate.
func largeSnapshot() *slurmclient.Snapshot {
	s := known(&slurmclient.Snapshot{})
	for p := range 50 {
		s.Partitions.Value = append(s.Partitions.Value, &slurm.Partition{Name: fmt.Sprintf("p%02d", p), State: slurm.PartitionUp})
	}
	states := []slurm.NodeBase{slurm.NodeAllocated, slurm.NodeMixed, slurm.NodeIdle, slurm.NodeDown}
	for i := range 10_000 {
		n := &slurm.Node{
			Name: fmt.Sprintf("n%05d", i), Partitions: []string{fmt.Sprintf("p%02d", i/200)},
			CPUs: 64, EffectiveCPUs: 64, MemoryMiB: 256_000, Features: []string{"x86", "ib"}, GRES: "gpu:h100:4(S:0-1)",
			State: slurm.NodeState{Base: states[i%4]},
		}
		if n.State.Base == slurm.NodeMixed {
			n.AllocCPUs, n.AllocMemoryMiB, n.GRESUsed = uint32(1+i%60), uint64(i%7)*4000, "gpu:h100:2(IDX:0-1)"
		}
		s.Nodes.Value = append(s.Nodes.Value, n)
	}
	reasons := []string{"Resources", "Priority", "QOSMaxCpuPerUserLimit", "Dependency"}
	for i := range 100_000 {
		j := &slurm.Job{
			ID: uint32(i + 1), Partition: fmt.Sprintf("p%02d", i%50), Reason: reasons[i%4], UserID: uint32(i % 500),
			State: slurm.JobState{Base: slurm.JobPending}, SubmitTime: slurm.Time(1000 + i), EligibleTime: slurm.Time(1000 + i),
			Priority: slurm.Num(uint64(i + 1)), NodeCount: slurm.Num(uint64(1 + i%3)), CPUs: slurm.Num(uint64(1+i%8) * 4),
			Tasks: slurm.Num(uint64(1+i%8) * 4), CPUsPerTask: slurm.Num(1), MemoryPerCPU: slurm.Num(uint64(1000 * (1 + i%5))),
			TRESRequested: fmt.Sprintf("cpu=%d,mem=%dM,node=1,billing=4", (1+i%8)*4, 4000*(1+i%8)),
		}
		if i%10 == 0 {
			j.TRESPerNode = "gres/gpu:h100:2"
		}
		if i%20 == 0 {
			j.State.Base, j.Nodes = slurm.JobRunning, "n00001"
		}
		s.Jobs.Value = append(s.Jobs.Value, j)
	}
	return s
}

func BenchmarkComputeLargeCluster(b *testing.B) {
	s := largeSnapshot()
	now := time.Unix(1_000_000, 0)
	b.ReportAllocs()
	for b.Loop() {
		demand.Compute(now, s)
	}
}

func BenchmarkComputeOneLargeArray(b *testing.B) {
	s := largeSnapshot()
	s.Jobs.Value = []*slurm.Job{{
		ID: 1, ArrayJobID: 1, ArrayTasks: "0-49999", Partition: "p00", State: slurm.JobState{Base: slurm.JobPending},
		Reason: "Resources", CPUs: slurm.Num(1), Tasks: slurm.Num(1), NodeCount: slurm.Num(1),
	}}
	b.ReportAllocs()
	for b.Loop() {
		demand.Compute(time.Unix(1_000_000, 0), s)
	}
}

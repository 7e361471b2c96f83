package demand_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// largeSnapshot returns 10,000 nodes and 100,000 job records in 50 partitions. Most of the jobs are
// pending, in a few hundred alternating shapes.
func largeSnapshot() *slurmclient.Snapshot {
	s := demandtest.MarkKnown(&slurmclient.Snapshot{})
	for p := range 50 {
		s.Partitions.Value = append(s.Partitions.Value,
			&slurm.Partition{Name: fmt.Sprintf("p%02d", p), State: slurm.PartitionUp})
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
			ID: uint32(i + 1), Partition: fmt.Sprintf("p%02d", i%50), Reason: reasons[i%4],
			SharedOwner: slurm.ShareOwner(slurm.JobOwner{UserID: uint32(i % 500)}),
			State:       slurm.JobState{Base: slurm.JobPending}, SubmitTime: slurm.Time(1000 + i),
			EligibleTime: slurm.Time(1000 + i),
			Priority:     slurm.Num(uint64(i + 1)), NodeCount: slurm.Num(uint64(1 + i%3)),
			CPUs:  slurm.Num(uint64(1+i%8) * 4),
			Tasks: slurm.Num(uint64(1+i%8) * 4), SharedDetails: slurm.ShareDetails(slurm.JobDetails{CPUsPerTask: slurm.Num(1)}),
			MemoryPerCPU:  slurm.Num(uint64(1000 * (1 + i%5))),
			TRESRequested: fmt.Sprintf("cpu=%d,mem=%dM,node=1,billing=4", (1+i%8)*4, 4000*(1+i%8)),
		}
		if i%10 == 0 {
			j.EditDetails(func(d *slurm.JobDetails) { d.TRESPerNode = "gres/gpu:h100:2" })
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

// BenchmarkComputeUnlikeExcludes: 1,700 jobs differ, and each excludes all nodes but one.
func BenchmarkComputeUnlikeExcludes(b *testing.B) {
	s := largeSnapshot()
	s.Jobs.Value = s.Jobs.Value[:1700]
	for i, j := range s.Jobs.Value {
		j.Reason, j.State.Base = "Resources", slurm.JobPending
		j.EditDetails(func(d *slurm.JobDetails) { d.ExcludedNodes = fmt.Sprintf("n[00000-%05d],n[%05d-09999]", i, i+2) })
	}
	b.ReportAllocs()
	for b.Loop() {
		demand.Compute(time.Unix(1_000_000, 0), s)
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

// poolsOfPartitions returns 200 pools, four per partition.
func poolsOfPartitions() (pools []demand.Pool) {
	for i := range 200 {
		feature := fmt.Sprintf("pool-%03d", i)
		pools = append(pools, demand.Pool{
			Name: "ns/" + feature, Feature: feature, WorkerPrefix: feature + "-", Max: 100,
			Partitions: []string{fmt.Sprintf("p%02d", i/4)},
			Shape: &demand.Shape{CPUs: 64, MemoryMiB: 256_000, GRES: "gpu:h100:4",
				Features: []string{"x86", "ib"}},
		})
	}
	return pools
}

// BenchmarkComputePools has the target of 100 ms: 100,000 jobs and 10,000 nodes with 200 pools,
// four per partition, some of which have reached their maximum.
func BenchmarkComputePools(b *testing.B) {
	s := largeSnapshot()
	pools := poolsOfPartitions()
	for i := range pools {
		p := &pools[i]
		p.Max, p.Replicas, p.IdleGrace, p.ReservationLead = uint64(20*(1+i%7)), 50, time.Minute, time.Minute
	}
	for i, n := range s.Nodes.Value {
		n.Features = append(n.Features, pools[i/50].Feature)
	}
	b.ReportAllocs()
	for b.Loop() {
		demand.Compute(time.Unix(1_000_000, 0), s, pools...)
	}
}

// BenchmarkComputePoolsOfOnePartition has all 200 pools in one partition, each with little room, so
// that jobs move on from one pool to the next.
func BenchmarkComputePoolsOfOnePartition(b *testing.B) {
	s := largeSnapshot()
	s.Nodes.Value = nil
	for _, j := range s.Jobs.Value {
		j.Partition = "p00"
	}
	var pools []demand.Pool
	for i := range 200 {
		pools = append(pools, demand.Pool{
			Name: fmt.Sprintf("ns/pool-%03d", i), Feature: fmt.Sprintf("pool-%03d", i), Max: 10,
			Partitions: []string{"p00"},
			Shape:      &demand.Shape{CPUs: 64, MemoryMiB: 256_000, GRES: "gpu:h100:4", Weight: uint32(i % 5)},
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		demand.Compute(time.Unix(1_000_000, 0), s, pools...)
	}
}

// BenchmarkComputePoolsOfUnlikeJobs has no two jobs alike.
func BenchmarkComputePoolsOfUnlikeJobs(b *testing.B) {
	s := largeSnapshot()
	for i, j := range s.Jobs.Value {
		j.MemoryPerCPU = slurm.Num(uint64(1000 + i))
	}
	pools := poolsOfPartitions()
	b.ReportAllocs()
	for b.Loop() {
		demand.Compute(time.Unix(1_000_000, 0), s, pools...)
	}
}

// BenchmarkComputeUnlikeJobsOfOnePartition has no two jobs alike, and all pools in one partition. It has the target of 0.5 s for 200
// pools and 2 s for 1,000.
func BenchmarkComputeUnlikeJobsOfOnePartition(b *testing.B) {
	for _, with := range []struct {
		name   string
		change func(i, pools int, j *slurm.Job)
		pool   func(i int, p *demand.Pool)
	}{
		{name: "memory"},
		{name: "excludes", change: func(i, pools int, j *slurm.Job) {
			j.EditDetails(func(d *slurm.JobDetails) { d.ExcludedNodes = fmt.Sprintf("pool-%04d-[%d-%d]", i%pools, i%50, 50+i%50) })
		}},
		{name: "features", change: func(i, pools int, j *slurm.Job) {
			j.EditDetails(func(d *slurm.JobDetails) { d.Features = fmt.Sprintf("pool-%04d", i%pools) })
		}},
		{name: "alternatives", change: func(i, pools int, j *slurm.Job) {
			j.EditDetails(func(d *slurm.JobDetails) { d.Features = fmt.Sprintf("pool-%04d|pool-%04d", i%pools, i*7%pools) })
		}},
		{name: "unlike constraints", change: func(i, pools int, j *slurm.Job) {
			j.EditDetails(func(d *slurm.JobDetails) {
				d.Features = fmt.Sprintf("pool-%04d|pool-%04d|pool-%04d", i%pools, i/pools%pools, i/pools/pools%pools)
			})
		}},
		{name: "exclusive", change: func(_, _ int, j *slurm.Job) { j.EditDetails(func(d *slurm.JobDetails) { d.Shared = "none" }) }},
		{name: "threads", pool: func(_ int, p *demand.Pool) { p.Shape.ThreadsPerCore = 2 }},
		{name: "unlike", pool: func(i int, p *demand.Pool) { p.Shape.CPUs, p.Shape.Weight = uint64(32+i), uint32(1+i%5) }},
	} {
		for _, count := range []int{20, 200, 1000} {
			b.Run(fmt.Sprintf("%s/pools=%d", with.name, count), func(b *testing.B) {
				s := largeSnapshot()
				for i, j := range s.Jobs.Value {
					j.Partition, j.MemoryPerCPU = "p00", slurm.Num(uint64(1000+i))
					if with.change != nil {
						with.change(i, count, j)
					}
				}
				var pools []demand.Pool
				for i := range count {
					feature := fmt.Sprintf("pool-%04d", i)
					pools = append(pools, demand.Pool{Name: "ns/" + feature, Feature: feature, WorkerPrefix: feature + "-", Max: 100,
						Partitions: []string{"p00"}, Shape: &demand.Shape{CPUs: 64, MemoryMiB: 256_000, GRES: "gpu:h100:4"}})
					if with.pool != nil {
						with.pool(i, &pools[i])
					}
				}
				b.ReportAllocs()
				for b.Loop() {
					demand.Compute(time.Unix(1_000_000, 0), s, pools...)
				}
			})
		}
	}
}

// BenchmarkComputePoolsAcrossPartitions has every pool in every partition, with alternating nodes
// and without a Shape.
func BenchmarkComputePoolsAcrossPartitions(b *testing.B) {
	s := largeSnapshot()
	var pools []demand.Pool
	for i := range 200 {
		pools = append(pools, demand.Pool{Name: fmt.Sprintf("ns/pool-%03d", i), Feature: fmt.Sprintf("pool-%03d", i),
			Max: 100})
	}
	for i, n := range s.Nodes.Value {
		n.Features = append(n.Features, pools[i%200].Feature)
		n.ActiveFeatures = n.Features
	}
	b.ReportAllocs()
	for b.Loop() {
		demand.Compute(time.Unix(1_000_000, 0), s, pools...)
	}
}

// BenchmarkComputePoolsOfShortQueue has 200 pools of 50 busy workers each and a few jobs in each
// partition, like a large cluster with a short queue.
func BenchmarkComputePoolsOfShortQueue(b *testing.B) {
	s := largeSnapshot()
	s.Jobs.Value = s.Jobs.Value[:400]
	pools := poolsOfPartitions()
	for i, n := range s.Nodes.Value {
		n.Name, n.Features = fmt.Sprintf("%s%d", pools[i/50].WorkerPrefix, i%50),
			append(n.Features, pools[i/50].Feature)
	}
	b.ReportAllocs()
	for b.Loop() {
		demand.Compute(time.Unix(1_000_000, 0), s, pools...)
	}
}

// BenchmarkComputeArrayOfUnlimitedPool has one array that needs 50,000 workers.
func BenchmarkComputeArrayOfUnlimitedPool(b *testing.B) {
	s := largeSnapshot()
	s.Nodes.Value = nil
	s.Jobs.Value = []*slurm.Job{{
		ID: 1, ArrayJobID: 1, ArrayTasks: "0-49999", Partition: "p00", State: slurm.JobState{Base: slurm.JobPending},
		Reason: "Resources", CPUs: slurm.Num(1), Tasks: slurm.Num(1), NodeCount: slurm.Num(1),
		SharedDetails: slurm.ShareDetails(slurm.JobDetails{Shared: "none"}),
	}}
	pool := demand.Pool{Name: "ns/w", Feature: "w", Partitions: []string{"p00"},
		Shape: &demand.Shape{CPUs: 64, MemoryMiB: 256_000}}
	b.ReportAllocs()
	for b.Loop() {
		demand.Compute(time.Unix(1_000_000, 0), s, pool)
	}
}

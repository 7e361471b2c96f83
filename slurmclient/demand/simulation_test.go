package demand_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// jobAsReported returns a job as slurmctld reports it: the reported, requested and maximum number
// of nodes, and count tasks of one CPU.
func jobAsReported(id uint32, reported, requested, most, count uint64, options ...demandtest.JobOption) *slurm.Job {
	j := demandtest.NewJob(id, demandtest.WithTasks(count))
	j.NodeCount = slurm.Num(reported)
	j.EditDetails(func(d *slurm.JobDetails) { d.MaxNodes = slurm.Num(most) })
	j.TRESRequested = fmt.Sprintf("cpu=%d,mem=100M,node=%d,billing=%d", count, requested, count)
	j.MemoryPerCPU = slurm.Num(100)
	for _, o := range options {
		o(j)
	}
	return j
}

// repeatJob returns count jobs that differ only in their IDs.
func repeatJob(count int, from uint32, make func(id uint32) *slurm.Job) (out []any) {
	for n := range count {
		out = append(out, make(from+uint32(n)))
	}
	return out
}

// TestSimulationMatchesSlurm has queues of the oracle on workers of 4 CPUs. Real Slurm of the release starts all jobs
// on the given number of workers, and not on one less.
func TestSimulationMatchesSlurm(t *testing.T) {
	perNode := func(n uint64) demandtest.JobOption {
		return func(j *slurm.Job) {
			j.EditDetails(func(d *slurm.JobDetails) { d.TasksPerNode, d.MinCPUsPerNode = slurm.Num(n), slurm.Num(n) })
		}
	}
	named := func(node string) demandtest.JobOption {
		return func(j *slurm.Job) { j.EditDetails(func(d *slurm.JobDetails) { d.RequiredNodes = node }) }
	}
	beside := func(of ...[]any) (out []any) {
		for _, jobs := range of {
			out = append(out, jobs...)
		}
		return out
	}
	// A job on several nodes that names one of them takes adjacent nodes (seed 305).
	row := func(most func(uint64) uint64) []any {
		return beside(
			[]any{jobAsReported(1, 3, 3, 3, 3)},
			repeatJob(4, 2, func(id uint32) *slurm.Job { return jobAsReported(id, 1, 1, most(1), 1) }),
			[]any{jobAsReported(6, 2, 1, max(2, most(8)), 8, named("w-1"))},
			repeatJob(6, 7, func(id uint32) *slurm.Job { return jobAsReported(id, 2, 1, most(5), 5) }),
			[]any{jobAsReported(13, 3, 3, 3, 3),
				jobAsReported(14, 1, 1, most(3), 3,
					demandtest.WithChange(func(j *slurm.Job) { j.MemoryPerCPU = slurm.Num(2000) }))},
		)
	}
	// Tasks per node: 24.11 allocates the CPUs of the existing tasks, and 26.05 the CPUs of all tasks that could be on the
	// node (seed 319).
	fill := func(most func(uint64) uint64) []any {
		return beside(
			repeatJob(2, 1, func(id uint32) *slurm.Job { return jobAsReported(id, 1, 1, most(1), 1) }),
			[]any{jobAsReported(3, 2, 2, most(2), 4, perNode(3)), jobAsReported(4, 1, 1, most(1), 1),
				jobAsReported(5, 1, 1, most(1), 1)},
			repeatJob(2, 6, func(id uint32) *slurm.Job { return jobAsReported(id, 1, 1, most(1), 2, perNode(3)) }),
			repeatJob(5, 8, func(id uint32) *slurm.Job { return jobAsReported(id, 2, 2, 2, 2) }),
		)
	}
	unreported := func(uint64) uint64 { return 0 }
	reported := func(n uint64) uint64 { return n }
	for _, tt := range []struct {
		name, release string
		jobs          []any
		want          uint64
	}{
		{"nodes adjacent to a named one", "24.11.5", row(unreported), 14},
		{"nodes adjacent to a named one", "26.05.0", row(reported), 14},
		{"tasks beside those on a named node", "24.11.5",
			[]any{jobAsReported(1, 1, 1, 1, 3), jobAsReported(2, 1, 1, 1, 3, named("w-0"))}, 2},
		{"tasks per node", "24.11.5", fill(unreported), 7},
		{"tasks per node", "26.05.0", fill(reported), 7},
		{"one task of several per node", "24.11.5", []any{jobAsReported(1, 1, 1, 0, 1, perNode(3))}, 1},
		{"one task of several on whole nodes", "26.05.0",
			[]any{jobAsReported(1, 1, 1, 1, 1, perNode(3),
				demandtest.WithDetails(func(d *slurm.JobDetails) { d.Shared = "none" }))}, 1},
		{"one task of several per node", "26.05.0", []any{jobAsReported(1, 1, 1, 1, 1, perNode(3))}, 0},
	} {
		t.Run(tt.name+" on "+tt.release, func(t *testing.T) {
			s := demandtest.SnapshotOf(t, append(tt.jobs, demandtest.NewPartition("cpu"))...)
			s.Server.Release = tt.release
			p := demand.Compute(demandtest.Noon.Time(), s, demand.Pool{
				Name: "w", Feature: "w", WorkerPrefix: "w-", Partitions: []string{"cpu"}, Max: 16,
				Shape: &demand.Shape{CPUs: 4, MemoryMiB: 8000}, IdleGrace: time.Second,
			}).Pools[0]
			if p.Required != tt.want {
				t.Errorf("required %d, want %d: %+v", p.Required, tt.want, p)
			}
		})
	}
}

// If GRES are in AccountingStorageTRES, slurmctld reports the total of the job besides its request per node (seed 12 of
// the oracle).
func TestGRESPerNodeTakePrecedenceOverTheirSum(t *testing.T) {
	nouns := []any{demandtest.NewPartition("cpu"),
		demandtest.NewJob(9, demandtest.WithChange(func(j *slurm.Job) { j.Priority = slurm.Num(2) }))}
	nouns = append(nouns, repeatJob(6, 1, func(id uint32) *slurm.Job {
		return jobAsReported(id, 1, 1, 1, 4,
			demandtest.WithChange(func(j *slurm.Job) {
				j.TRESRequested = j.TRESRequested + ",gres/gpu=2"
				j.EditDetails(func(d *slurm.JobDetails) { d.TRESPerNode = "gres/gpu:2" })
			}))
	})...)
	pool := demand.Pool{Name: "w", Feature: "w", WorkerPrefix: "w-", Partitions: []string{"cpu"}, Max: 12,
		Shape: &demand.Shape{CPUs: 8, MemoryMiB: 16000, GRES: "gpu:2"}}
	if p := demand.Compute(time.Unix(int64(demandtest.Noon), 0), demandtest.SnapshotOf(t, nouns...),
		pool).Pools[0]; p.Required != 6 {
		t.Errorf("%d workers are required, want 6 for six jobs with all GPUs of a worker: %+v", p.Required, p)
	}
}

// TestAPoolWhoseJobsWaitDoesNotRaiseAnotherPool: only the pool that cannot have enough workers
// keeps its estimate (seeds 1427 and 1481 of the oracle).
func TestAPoolWhoseJobsWaitDoesNotRaiseAnotherPool(t *testing.T) {
	small := &demand.Shape{CPUs: 4, MemoryMiB: 8000}
	first := []demandtest.JobOption{demandtest.InPartition("b"), demandtest.WithChange(func(j *slurm.Job) {
		j.Priority, j.CPUs = slurm.Num(9), slurm.Num(6)
		j.EditDetails(func(d *slurm.JobDetails) { d.CPUsPerTask, d.MinCPUsPerNode = slurm.Num(2), slurm.Num(2) })
	})}
	s := demandtest.SnapshotOf(t, demandtest.NewPartition("a"), demandtest.NewPartition("b"),
		demandtest.NewNode("b-0", demandtest.InPartitions("b"), demandtest.WithFeatures("b"),
			demandtest.WithSize(4, 8000), demandtest.WithUsage(1, 100)),
		demandtest.NewJob(1, demandtest.InPartition("b"), demandtest.RunningOn("b-0")),
		jobAsReported(2, 3, 3, 3, 3, first...), jobAsReported(3, 3, 3, 3, 3, first...),
		jobAsReported(4, 3, 3, 3, 3, demandtest.InPartition("a,b")))
	d := demand.Compute(demandtest.Noon.Time(), s,
		demand.Pool{Name: "a", Feature: "a", WorkerPrefix: "a-", Partitions: []string{"a"}, Max: 8, Shape: small},
		demand.Pool{Name: "b", Feature: "b", WorkerPrefix: "b-", Partitions: []string{"b"}, Max: 3, Shape: small})
	if a, b := d.Pools[0].Required, d.Pools[1].Required; a != 0 || b != 3 {
		t.Errorf("%d and %d workers are required, want 0 and 3: %+v", a, b, d.Pools)
	}
}

// TestALimitOfNodesBoundsOneJob: slurmctld selects nodes for a job as if its limit of nodes were
// the maximum that it requests (seed 1474 of the oracle).
func TestALimitOfNodesBoundsOneJob(t *testing.T) {
	for limit, want := range map[uint64]uint64{3: 7, 6: 6, 0: 6} {
		nouns := []any{demandtest.NewPartition("cpu"), demandtest.NewJob(1, demandtest.RunningOn("w-[0-5]")),
			jobAsReported(9, 2, 1, 6, 6,
				demandtest.WithChange(func(j *slurm.Job) {
					j.EditOwner(func(o *slurm.JobOwner) { o.QOS = "q" })
					j.EditDetails(func(d *slurm.JobDetails) { d.Licenses = "ansys" })
				}))}
		for i := range 6 {
			nouns = append(nouns, demandtest.NewNode(fmt.Sprint("w-", i), demandtest.WithFeatures("w"),
				demandtest.WithSize(4, 8000), demandtest.WithUsage(3, 100)))
		}
		s := demandtest.SnapshotOf(t, nouns...)
		if limit > 0 {
			demandtest.SetLimits(s, slurm.QOS{Name: "q", GrpTRES: map[string]uint64{"node": limit}})
		} else {
			demandtest.SetLimits(s, slurm.License{Name: "ansys", Total: 5})
		}
		p := demand.Compute(demandtest.Noon.Time(), s, demand.Pool{
			Name: "w", Feature: "w", WorkerPrefix: "w-", Partitions: []string{"cpu"}, Max: 16,
			Shape: &demand.Shape{CPUs: 4, MemoryMiB: 8000},
		}).Pools[0]
		if p.Required != want {
			t.Errorf("%d workers are required for six tasks on %d nodes, want %d: %+v", p.Required, limit, want, p)
		}
	}
}

// TestPlannedNodesAreKept: backfill plans the job that requires the busy a-1 on a-1 and b-0. The job of lower priority
// on three nodes then needs a new one (seed 12447 of the oracle).
func TestPlannedNodesAreKept(t *testing.T) {
	for planned, want := range map[string]uint64{"a-1,b-0": 4, "": 3} {
		both := demandtest.InPartitions("all")
		nouns := []any{demandtest.NewPartition("all")}
		for i := range 3 {
			nouns = append(nouns,
				demandtest.NewNode(fmt.Sprint("a-", i), both, demandtest.WithFeatures("a"),
					demandtest.WithUsage(4, 400)),
				demandtest.NewNode(fmt.Sprint("b-", i), both, demandtest.WithFeatures("b", "big"),
					demandtest.WithSize(16, 32000),
					func(n *slurm.Node) { n.Weight = 10 }))
		}
		nouns = append(nouns, demandtest.NewJob(1, demandtest.InPartition("all"), demandtest.RunningOn("a-[0-2]")),
			jobAsReported(2, 2, 2, 2, 4, demandtest.InPartition("all"), demandtest.WithConstraint("a|b"),
				demandtest.WithChange(func(j *slurm.Job) {
					j.Priority = slurm.Num(9)
					j.EditDetails(func(d *slurm.JobDetails) { d.RequiredNodes, d.ScheduledNodes = "a-1", planned })
				})),
			jobAsReported(3, 3, 3, 3, 6, demandtest.InPartition("all"), demandtest.WithDetails(func(d *slurm.JobDetails) {
				d.TasksPerNode, d.MinCPUsPerNode = slurm.Num(2), slurm.Num(2)
			})))
		d := demand.Compute(demandtest.Noon.Time(), demandtest.SnapshotOf(t, nouns...),
			demand.Pool{Name: "a", Feature: "a", WorkerPrefix: "a-", Partitions: []string{"all"}, Max: 3,
				Shape: &demand.Shape{CPUs: 4, MemoryMiB: 8000}},
			demand.Pool{Name: "b", Feature: "b", WorkerPrefix: "b-", Partitions: []string{"all"}, Max: 6,
				Shape: &demand.Shape{CPUs: 16, MemoryMiB: 32000, Features: []string{"big"}, Weight: 10}})
		if b := d.Pools[1]; b.Required != want {
			t.Errorf("with the plan %q, %d workers of b are required, want %d: %+v", planned, b.Required, want, b)
		}
	}
}

// TestNodesOfAPlanToComeAreKept: no node exists yet. When they do, jobs 1 and 2 start on w-0 to w-4. Backfill then
// plans job 3 on the required w-3 and the three nodes after it, which are free or will be (seed 245 of the oracle). Job
// 7 of lower priority needs yet another one.
func TestNodesOfAPlanToComeAreKept(t *testing.T) {
	requiring := func(node string) demandtest.JobOption {
		return demandtest.WithDetails(func(d *slurm.JobDetails) { d.RequiredNodes = node })
	}
	for node, want := range map[string]uint64{"w-3": 8, "w-4": 9, "": 10} {
		nouns := []any{demandtest.NewPartition("cpu"), demandtest.NewJob(1, demandtest.AsExclusive),
			demandtest.NewJob(2, demandtest.OnNodes(4), demandtest.AsExclusive),
			demandtest.NewJob(3, demandtest.OnNodes(4), demandtest.AsExclusive, requiring(node)),
			demandtest.NewJob(7, demandtest.AsExclusive)}
		p := demand.Compute(demandtest.Noon.Time(), demandtest.SnapshotOf(t, nouns...), demand.Pool{
			Name: "w", Feature: "w", WorkerPrefix: "w-", Partitions: []string{"cpu"}, Max: 20,
			Shape: &demand.Shape{CPUs: 4, MemoryMiB: 8000},
		}).Pools[0]
		if p.Required != want {
			t.Errorf("requiring %q, %d workers are required, want %d: %+v", node, p.Required, want, p)
		}
	}
}

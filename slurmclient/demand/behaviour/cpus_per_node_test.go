package behaviour

import (
	"fmt"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// TestRunningJobsCountInMaxCPUsPerNode: MaxCPUsPerNode bounds the CPUs that all jobs of the
// partition have on a node. Jobs of other partitions do not count.
func TestRunningJobsCountInMaxCPUsPerNode(t *testing.T) {
	runsIn := func(partition string, cpus uint64) *slurm.Job {
		return demandtest.NewJob(1, demandtest.InPartition(partition), demandtest.RunningOn("w-0"),
			demandtest.WithChange(func(j *slurm.Job) { j.CPUs = slurm.Num(cpus) }))
	}
	for name, tc := range map[string]struct {
		runs     []*slurm.Job
		used     uint32
		required uint64
	}{
		"no running job":                 {nil, 0, 1},
		"a job that leaves enough":       {[]*slurm.Job{runsIn("cpu", 1)}, 1, 1},
		"a job that leaves too little":   {[]*slurm.Job{runsIn("cpu", 2)}, 2, 2},
		"a job of another partition":     {[]*slurm.Job{runsIn("other", 2)}, 2, 1},
		"jobs of both that leave enough": {[]*slurm.Job{runsIn("cpu", 1), runsIn("other", 1)}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			both := demandtest.InPartitions("cpu", "other")
			s := demandtest.SnapshotOf(t,
				demandtest.NewPartition("cpu", func(p *slurm.Partition) { p.MaxCPUsPerNode = slurm.Num(3) }),
				demandtest.NewPartition("other"),
				demandtest.NewNode("w-0", both, demandtest.WithFeatures("w"), demandtest.WithUsage(tc.used, 0)),
				tc.runs, demandtest.NewJob(9, demandtest.WithTasks(2)))
			if tc.used == 0 {
				s.Nodes.Value[0].State.Base = slurm.NodeIdle
			}
			p := demand.Compute(time.Unix(int64(demandtest.Noon), 0), s,
				demand.Pool{Name: "w", Feature: "w", WorkerPrefix: "w-", Partitions: []string{"cpu", "other"},
					Max: 9}).Pools[0]
			if p.Required != tc.required {
				t.Errorf("%d workers are required, want %d: %+v", p.Required, tc.required, p)
			}
		})
	}
}

// TestTasksForEachNodeCountInMaxCPUsPerNode: a job of one task with --ntasks-per-node=3 needs a node where
// MaxCPUsPerNode leaves three CPUs. Each such job therefore needs its own node (oracle, seed 9492).
func TestTasksForEachNodeCountInMaxCPUsPerNode(t *testing.T) {
	sized := func(id uint32, tasks, cpusPerTask, tasksPerNode, nodes uint64) *slurm.Job {
		return demandtest.NewJob(id, demandtest.WithChange(func(j *slurm.Job) {
			j.Tasks, j.CPUs = slurm.Num(tasks), slurm.Num(tasks*cpusPerTask)
			j.EditDetails(func(d *slurm.JobDetails) { d.CPUsPerTask = slurm.Num(cpusPerTask) })
			j.NodeCount = slurm.Num(nodes)
			j.EditDetails(func(d *slurm.JobDetails) { d.TasksPerNode = slurm.Num(tasksPerNode) })
			j.EditDetails(func(d *slurm.JobDetails) {
				d.MinCPUsPerNode = slurm.Num(max(min(tasks, tasksPerNode), 1) * cpusPerTask)
			})
			j.MemoryPerCPU, j.TimeLimit = slurm.Num(100), slurm.Infinite()
			j.TRESRequested = fmt.Sprintf("cpu=%d,node=%d", tasks*cpusPerTask, nodes)
			j.Priority = slurm.Num(10000)
		}))
	}
	wide, alone := sized(1, 4, 3, 0, 4), sized(3, 1, 1, 3, 1)
	wide.TRESRequested = "cpu=12,node=1"
	alone.ArrayJobID, alone.ArrayTasks = 3, "0-2"
	s := demandtest.SnapshotOf(t,
		demandtest.NewPartition("cpu", func(p *slurm.Partition) { p.MaxCPUsPerNode = slurm.Num(3) }),
		wide, sized(2, 6, 1, 2, 3), alone)
	s.Server.Release = "24.11.5"
	demandtest.SetLimits(s, slurm.Conf{SelectTypeParameters: []string{"CR_CPU"}})
	p := demand.Compute(time.Unix(int64(demandtest.Noon), 0), s,
		demand.Pool{Name: "w", Feature: "w", WorkerPrefix: "w-",
			Partitions: []string{"cpu"}, Max: 16, Shape: &demand.Shape{CPUs: 4, MemoryMiB: 8000}}).Pools[0]
	if p.Required != 10 {
		t.Errorf("%d workers are required, want 10: %+v", p.Required, p)
	}
}

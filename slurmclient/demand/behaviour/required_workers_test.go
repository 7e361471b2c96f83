package behaviour

import (
	"fmt"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// TestRequiredIsTheMinimumThatSlurmNeeds expects for each queue the number of workers of 4 CPUs
// that real Slurm needed: that many workers start all jobs, and one less does not.
func TestRequiredIsTheMinimumThatSlurmNeeds(t *testing.T) {
	cpusPerTask := func(c uint64) demandtest.JobOption {
		return func(j *slurm.Job) {
			j.CPUs = slurm.Num(c * j.Tasks.Or(1))
			j.EditDetails(func(d *slurm.JobDetails) { d.CPUsPerTask = slurm.Num(c) })
		}
	}
	exactly := func(n uint64) demandtest.JobOption {
		return func(j *slurm.Job) {
			demandtest.OnNodes(n)(j)
			j.EditDetails(func(d *slurm.JobDetails) { d.MaxNodes = slurm.Num(n) })
		}
	}
	memory := func(mib uint64) demandtest.JobOption {
		return func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(mib) }
	}
	guessed := func(n, asked uint64) demandtest.JobOption {
		return func(j *slurm.Job) {
			j.NodeCount, j.TRESRequested = slurm.Num(n), fmt.Sprintf("cpu=1,node=%d", asked)
			j.EditDetails(func(d *slurm.JobDetails) { d.MaxNodes = j.Tasks })
		}
	}
	for name, tt := range map[string]struct {
		jobs []any
		want uint64
	}{
		"tasks fill the room that other jobs leave": {[]any{demandtest.NewJobs(1, 6, demandtest.WithTasks(6))}, 9},
		"tasks fill the room that larger tasks leave": {[]any{demandtest.NewJob(1, demandtest.WithTasks(5)),
			demandtest.NewJob(2, demandtest.WithTasks(3), cpusPerTask(3))}, 4},
		"tasks fill the room beside jobs on several nodes": {[]any{demandtest.NewJob(1, demandtest.OnNodes(3)),
			demandtest.NewJob(2, demandtest.OnNodes(3)),
			demandtest.NewJobs(3, 2, demandtest.WithTasks(3))}, 3},
		"a later job finds less room": {[]any{demandtest.NewJobs(1, 5, demandtest.OnNodes(1)),
			demandtest.NewJob(6, demandtest.OnNodes(2))},
			3},
		"a later job finds even less room on fuller nodes": {[]any{demandtest.NewJobs(1, 2, demandtest.WithTasks(2)),
			demandtest.NewJobs(3, 5, demandtest.OnNodes(1)), demandtest.NewJob(8, demandtest.OnNodes(2))}, 4},
		"a later job needs as many nodes as it requests": {[]any{demandtest.NewJobs(1, 2),
			demandtest.NewJob(3, demandtest.WithTasks(2)),
			demandtest.NewJob(4, demandtest.OnNodes(3))}, 4},
		"jobs on several nodes take the first": {[]any{demandtest.NewJobs(1, 5, exactly(4))}, 8},
		"jobs on several nodes take the first with room": {[]any{demandtest.NewJobs(1, 6),
			demandtest.NewJobs(11, 5, exactly(4))}, 9},
		"memory per node is not divided among tasks": {[]any{demandtest.NewJobs(1, 4, demandtest.WithTasks(7),
			memory(2500))}, 7},
		"components do not share nodes": {[]any{demandtest.NewJob(1, demandtest.AsComponent(1, 0)),
			demandtest.NewJob(2, demandtest.AsComponent(1, 1))}, 2},
		"slurmctld's guess of the nodes has no effect": {[]any{demandtest.NewJob(1, demandtest.WithTasks(5),
			guessed(2, 1)),
			demandtest.NewJob(2, demandtest.WithTasks(3))}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := demandtest.DemandsOf(t, append(tt.jobs, demandtest.NewPool("w"),
				demandtest.NewPartition("cpu"))...).Pool("w")
			if p.Required != tt.want {
				t.Errorf("required %d, want %d", p.Required, tt.want)
			}
		})
	}
}

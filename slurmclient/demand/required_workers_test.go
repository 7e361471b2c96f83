package demand_test

import (
	"fmt"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// TestRequiredIsTheMinimumThatSlurmNeeds expects for each queue the number of workers of 4 CPUs
// that real Slurm needed: that many workers start all jobs, and one less does not.
func TestRequiredIsTheMinimumThatSlurmNeeds(t *testing.T) {
	cpusPerTask := func(c uint64) jobOption {
		return func(j *slurm.Job) {
			j.CPUsPerTask, j.CPUs = slurm.Num(c), slurm.Num(c*j.Tasks.Or(1))
		}
	}
	exactly := func(n uint64) jobOption {
		return func(j *slurm.Job) {
			onNodes(n)(j)
			j.MaxNodes = slurm.Num(n)
		}
	}
	memory := func(mib uint64) jobOption {
		return func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(mib) }
	}
	guessed := func(n, asked uint64) jobOption {
		return func(j *slurm.Job) {
			j.NodeCount, j.MaxNodes, j.TRESRequested = slurm.Num(n), j.Tasks, fmt.Sprintf("cpu=1,node=%d", asked)
		}
	}
	for name, tt := range map[string]struct {
		jobs []any
		want uint64
	}{
		"tasks fill the room that other jobs leave": {[]any{newJobs(1, 6, withTasks(6))}, 9},
		"tasks fill the room that larger tasks leave": {[]any{newJob(1, withTasks(5)),
			newJob(2, withTasks(3), cpusPerTask(3))}, 4},
		"tasks fill the room beside jobs on several nodes": {[]any{newJob(1, onNodes(3)), newJob(2, onNodes(3)),
			newJobs(3, 2, withTasks(3))}, 3},
		"a later job finds less room": {[]any{newJobs(1, 5, onNodes(1)), newJob(6, onNodes(2))},
			3},
		"a later job finds even less room on fuller nodes": {[]any{newJobs(1, 2, withTasks(2)),
			newJobs(3, 5, onNodes(1)), newJob(8, onNodes(2))}, 4},
		"a later job needs as many nodes as it requests": {[]any{newJobs(1, 2), newJob(3, withTasks(2)),
			newJob(4, onNodes(3))}, 4},
		"jobs on several nodes take the first":           {[]any{newJobs(1, 5, exactly(4))}, 8},
		"jobs on several nodes take the first with room": {[]any{newJobs(1, 6), newJobs(11, 5, exactly(4))}, 9},
		"memory per node is not divided among tasks":     {[]any{newJobs(1, 4, withTasks(7), memory(2500))}, 7},
		"components do not share nodes": {[]any{newJob(1, asComponent(1, 0)),
			newJob(2, asComponent(1, 1))}, 2},
		"slurmctld's guess of the nodes has no effect": {[]any{newJob(1, withTasks(5), guessed(2, 1)),
			newJob(2, withTasks(3))}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := demandsOf(t, append(tt.jobs, newPool("w"), newPartition("cpu"))...).Pool("w")
			if p.Required != tt.want {
				t.Errorf("required %d, want %d", p.Required, tt.want)
			}
		})
	}
}

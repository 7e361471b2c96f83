package demand_test

import (
	"fmt"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// TestRequiredIsTheMinimumThatSlurmNeeds expects for each queue the number of workers of 4 CPUs
// that real Slurm needed: that many workers start all jobs, and one less does not.
func TestRequiredIsTheLeastThatSlurmNeeds(t *testing.T) {
	cpusPerTask := func(c uint64) jobOption {
		return func(j *slurm.Job) {
			j.CPUsPerTask, j.CPUs = slurm.Num(c), slurm.Num(c*j.Tasks.Or(1))
		}
	}
	exactly := func(n uint64) jobOption {
		return func(j *slurm.Job) {
			nodes(n)(j)
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
		"tasks fill the room that other jobs leave":        {[]any{jobs(1, 6, tasks(6))}, 9},
		"tasks fill the room that larger tasks leave":      {[]any{job(1, tasks(5)), job(2, tasks(3), cpusPerTask(3))}, 4},
		"tasks fill the room beside jobs on several nodes": {[]any{job(1, nodes(3)), job(2, nodes(3)), jobs(3, 2, tasks(3))}, 3},
		"a later job finds less room":                      {[]any{jobs(1, 5, nodes(1)), job(6, nodes(2))}, 3},
		"a later job finds even less room on fuller nodes": {[]any{jobs(1, 2, tasks(2)), jobs(3, 5, nodes(1)), job(8, nodes(2))}, 4},
		"a later job needs as many nodes as it requests":   {[]any{jobs(1, 2), job(3, tasks(2)), job(4, nodes(3))}, 4},
		"jobs on several nodes take the first":             {[]any{jobs(1, 5, exactly(4))}, 8},
		"jobs on several nodes take the first with room":   {[]any{jobs(1, 6), jobs(11, 5, exactly(4))}, 9},
		"memory per node is not divided among tasks":       {[]any{jobs(1, 4, tasks(7), memory(2500))}, 7},
		"components do not share nodes":                    {[]any{job(1, het(1, 0)), job(2, het(1, 1))}, 2},
		"slurmctld's guess of the nodes has no effect":     {[]any{job(1, tasks(5), guessed(2, 1)), job(2, tasks(3))}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := demandsOf(t, append(tt.jobs, newPool("w"), partition("cpu"))...).Pool("w")
			if p.Required != tt.want {
				t.Errorf("required %d, want %d", p.Required, tt.want)
			}
		})
	}
}

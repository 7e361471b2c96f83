package demand_test

import (
	"fmt"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// TestRequiredIsTheLeastThatSlurmNeeds has queues on workers of 4 CPUs, for each of which
// real Slurm was tried out: that many workers start all jobs, and one less does not.
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
		"tasks fill what other jobs leave":      {[]any{jobs(1, 6, tasks(6))}, 9},
		"also what larger tasks leave":          {[]any{job(1, tasks(5)), job(2, tasks(3), cpusPerTask(3))}, 4},
		"also beside jobs on several nodes":     {[]any{job(1, nodes(3)), job(2, nodes(3)), jobs(3, 2, tasks(3))}, 3},
		"a job that comes late finds less room": {[]any{jobs(1, 5, nodes(1)), job(6, nodes(2))}, 3},
		"the fuller the nodes are":              {[]any{jobs(1, 2, tasks(2)), jobs(3, 5, nodes(1)), job(8, nodes(2))}, 4},
		"and on as many as it asks for":         {[]any{jobs(1, 2), job(3, tasks(2)), job(4, nodes(3))}, 4},
		"jobs of several nodes take the first":  {[]any{jobs(1, 5, exactly(4))}, 8},
		"the first that have room":              {[]any{jobs(1, 6), jobs(11, 5, exactly(4))}, 9},
		"memory of a node is no task's":         {[]any{jobs(1, 4, tasks(7), memory(2500))}, 7},
		"components are on nodes of their own":  {[]any{job(1, het(1, 0)), job(2, het(1, 1))}, 2},
		"a guess of slurmctld is no number":     {[]any{job(1, tasks(5), guessed(2, 1)), job(2, tasks(3))}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := demandsOf(t, append(tt.jobs, newPool("w"), partition("cpu"))...).Pool("w")
			if p.Required != tt.want {
				t.Errorf("required %d, want %d", p.Required, tt.want)
			}
		})
	}
}

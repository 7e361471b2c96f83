package demand_test

import (
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// TestIdleWorkersThatAJobCannotUseAreNotEnough: each job ends up running or unsatisfiable.
func TestIdleWorkersThatAJobCannotUseAreNotEnough(t *testing.T) {
	named := func(names string) jobOption { return withChange(func(j *slurm.Job) { j.RequiredNodes = names }) }
	without := func(names string) jobOption { return withChange(func(j *slurm.Job) { j.ExcludedNodes = names }) }
	for name, tc := range map[string]struct {
		job      *slurm.Job
		max      uint64
		required uint64
		why      string
	}{
		"one excluded worker":  {newJob(1, without("w-0")), 9, 2, ""},
		"two excluded workers": {newJob(1, without("w-[0-1]")), 9, 3, ""},
		"one excluded worker at the maximum": {newJob(1, without("w-0")), 1, 0,
			"more nodes than the pool's maximum"},
		"another named worker": {newJob(1, named("w-7")), 9, 8, ""},
		"a named worker beyond the maximum": {newJob(1, named("w-7")), 7, 0,
			"more nodes than the pool's maximum"},
		"a named future worker without the feature": {newJob(1, named("w-7"), withConstraint("big")), 9,
			0, "no node has the features or the disk"},
		"another worker beside the named one": {newJob(1, withTasks(8), named("w-0")), 9, 2, ""},
		"another worker beside the named one, beyond the maximum": {newJob(1, withTasks(8), named("w-0")), 1, 0,
			"more nodes than the pool's maximum"},
		"a worker that is too small": {newJob(1, withTasks(8), onNodes(1)), 9, 0,
			"more nodes than the job or the partition allows"},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshotOf(t, newPartition("cpu"), newNode("w-0", withFeatures("w")), tc.job)
			p := demand.Compute(time.Unix(int64(noon), 0), s,
				demand.Pool{Name: "ns/w", Feature: "w", WorkerPrefix: "w-", Partitions: []string{"cpu"},
					Max: tc.max}).Pools[0]
			if p.Required != tc.required || whyNot(p.Unsatisfiable) != tc.why {
				t.Errorf("%d workers are required, want %d; unsatisfiable since %q, want %q: %+v", p.Required,
					tc.required, whyNot(p.Unsatisfiable), tc.why, p)
			}
		})
	}
}

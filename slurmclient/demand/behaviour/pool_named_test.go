package behaviour

import (
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// TestIdleWorkersThatAJobCannotUseAreNotEnough: each job ends up running or unsatisfiable.
func TestIdleWorkersThatAJobCannotUseAreNotEnough(t *testing.T) {
	named := func(names string) demandtest.JobOption {
		return demandtest.WithDetails(func(d *slurm.JobDetails) { d.RequiredNodes = names })
	}
	without := func(names string) demandtest.JobOption {
		return demandtest.WithDetails(func(d *slurm.JobDetails) { d.ExcludedNodes = names })
	}
	for name, tc := range map[string]struct {
		job      *slurm.Job
		max      uint64
		required uint64
		why      string
	}{
		"one excluded worker":  {demandtest.NewJob(1, without("w-0")), 9, 2, ""},
		"two excluded workers": {demandtest.NewJob(1, without("w-[0-1]")), 9, 3, ""},
		"one excluded worker at the maximum": {demandtest.NewJob(1, without("w-0")), 1, 0,
			"more nodes than the pool's maximum"},
		"another named worker": {demandtest.NewJob(1, named("w-7")), 9, 8, ""},
		"a named worker beyond the maximum": {demandtest.NewJob(1, named("w-7")), 7, 0,
			"more nodes than the pool's maximum"},
		"a named future worker without the feature": {demandtest.NewJob(1, named("w-7"),
			demandtest.WithConstraint("big")), 9,
			0, "no node has the features or the disk"},
		"another worker beside the named one": {demandtest.NewJob(1, demandtest.WithTasks(8), named("w-0")), 9, 2, ""},
		"another worker beside the named one, beyond the maximum": {demandtest.NewJob(1, demandtest.WithTasks(8),
			named("w-0")), 1, 0,
			"more nodes than the pool's maximum"},
		"a worker that is too small": {demandtest.NewJob(1, demandtest.WithTasks(8), demandtest.OnNodes(1)), 9, 0,
			"more nodes than the job or the partition allows"},
	} {
		t.Run(name, func(t *testing.T) {
			s := demandtest.SnapshotOf(t, demandtest.NewPartition("cpu"),
				demandtest.NewNode("w-0", demandtest.WithFeatures("w")), tc.job)
			p := demand.Compute(time.Unix(int64(demandtest.Noon), 0), s,
				demand.Pool{Name: "ns/w", Feature: "w", WorkerPrefix: "w-", Partitions: []string{"cpu"},
					Max: tc.max}).Pools[0]
			if p.Required != tc.required || whyNot(p.Unsatisfiable) != tc.why {
				t.Errorf("%d workers are required, want %d; unsatisfiable since %q, want %q: %+v", p.Required,
					tc.required, whyNot(p.Unsatisfiable), tc.why, p)
			}
		})
	}
}

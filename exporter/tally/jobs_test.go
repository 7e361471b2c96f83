package tally

import (
	"testing"

	"github.com/slurmtide/slurmtide/exporter/exportertest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestARevokedRecordIsNoJobOfThisCluster(t *testing.T) {
	is := func(words ...string) func(*slurm.Job) {
		return func(j *slurm.Job) { j.State, j.Reason = slurm.ParseJobState(words...), "Resources" }
	}
	totals := TotalJobs([]*slurm.Job{
		exportertest.NewJob(1, is("CANCELLED", "REVOKED")), exportertest.NewJob(2, is("PENDING", "REVOKED")),
		exportertest.NewJob(3, is("CANCELLED")), exportertest.NewJob(4, is("PENDING")),
	})
	all := &totals.All
	if all.InState(slurm.JobCancelled) != 1 || all.InState(slurm.JobPending) != 1 || all.Total != 2 ||
		totals.ByReason["Resources"] != 1 {
		t.Errorf("%d cancelled, %d pending, %d in all, reasons %v", all.InState(slurm.JobCancelled),
			all.InState(slurm.JobPending), all.Total, totals.ByReason)
	}
	if n := all.WithFlag(slurm.JobRevoked); n != 2 {
		t.Errorf("%d have the flag", n)
	}
}

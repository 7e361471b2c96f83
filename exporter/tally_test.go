package exporter

import (
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestARevokedRecordIsNoJobOfThisCluster(t *testing.T) {
	is := func(words ...string) func(*slurm.Job) {
		return func(j *slurm.Job) { j.State, j.Reason = slurm.ParseJobState(words...), "Resources" }
	}
	totals := totalJobs([]*slurm.Job{
		job(1, is("CANCELLED", "REVOKED")), job(2, is("PENDING", "REVOKED")), job(3, is("CANCELLED")), job(4, is("PENDING")),
	})
	all := &totals.all
	if all.of(slurm.JobCancelled) != 1 || all.of(slurm.JobPending) != 1 || all.total != 2 || totals.byReason["Resources"] != 1 {
		t.Errorf("%d cancelled, %d pending, %d in all, reasons %v", all.of(slurm.JobCancelled), all.of(slurm.JobPending), all.total, totals.byReason)
	}
	if n := all.with(slurm.JobRevoked); n != 2 {
		t.Errorf("%d have the flag", n)
	}
}

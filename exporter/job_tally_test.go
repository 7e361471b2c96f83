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
		newJob(1, is("CANCELLED", "REVOKED")), newJob(2, is("PENDING", "REVOKED")), newJob(3, is("CANCELLED")), newJob(4, is("PENDING")),
	})
	all := &totals.all
	if all.inState(slurm.JobCancelled) != 1 || all.inState(slurm.JobPending) != 1 || all.total != 2 || totals.byReason["Resources"] != 1 {
		t.Errorf("%d cancelled, %d pending, %d in all, reasons %v", all.inState(slurm.JobCancelled), all.inState(slurm.JobPending), all.total, totals.byReason)
	}
	if n := all.withFlag(slurm.JobRevoked); n != 2 {
		t.Errorf("%d have the flag", n)
	}
}

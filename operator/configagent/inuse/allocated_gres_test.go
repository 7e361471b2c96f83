package inuse

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// The lines are scontrol's of 24.11 and 26.05, shortened.
const shownJobs = `JobId=5 JobName=exclusive UserId=root(0) JobState=RUNNING OverSubscribe=NO Exclusive=NODE NodeList=gpu-0 JOB_GRES=gpu:h100:4,nic:1 Nodes=gpu-0 CPU_IDs=0-15 Mem=1600 GRES=gpu:h100:4(IDX:0-3)
JobId=8 ArrayJobId=7 ArrayTaskId=1 JobName=task JOB_GRES=shard:8 Nodes=gpu-1
JobId=10 HetJobId=9 HetJobOffset=1 HetJobIdSet=9-10 JobName=het JOB_GRES=gpu:1 Nodes=gpu-2
JobId=11 JobName=none JOB_GRES=(null) Nodes=gpu-2
JobId=12 ArrayJobId=12 ArrayTaskId=1-30 JobName=waiting OverSubscribe=OK
`

func TestAllocatedGRES(t *testing.T) {
	want := map[string][]string{"5": {"gpu", "nic"}, "7_1": {"shard"}, "9+1": {"gpu"}}
	if diff := cmp.Diff(want, parseAllocatedGRES(shownJobs)); diff != "" {
		t.Errorf("the GRES differ (-want +got):\n%s", diff)
	}
	if got := parseAllocatedGRES("No jobs in the system\n"); len(got) != 0 {
		t.Errorf("no jobs have %v", got)
	}
}

// TestExclusiveJobsHaveAllGRES: they have all GRES of their nodes without a request.
func TestExclusiveJobsHaveAllGRES(t *testing.T) {
	c := newCluster(t, "5|RUNNING|a||gpu-0|N/A|N/A|N/A|N/A|\n11|RUNNING|a||gpu-0|N/A|N/A|N/A|N/A|\n")
	c.write("job-details", shownJobs)
	before := filesOf("slurm.conf", inForce+"GresTypes=gpu,nic\n", "gres.conf", "Name=gpu File=/dev/nvidia[0-3]")
	fewer := filesOf("slurm.conf", inForce+"GresTypes=gpu,nic\n", "gres.conf", "Name=gpu File=/dev/nvidia[0-1]", slurmconf.RevisionFile, "2")
	c.expect(c.holdFiles(before, fewer), "GresInUse: gres.conf counts fewer GRES of nodes, with which slurmctld would end the jobs that have them: gpu-0 (job 5);")
	removed := filesOf("slurm.conf", inForce+"GresTypes=gpu\n", "gres.conf", "Name=gpu File=/dev/nvidia[0-3]", slurmconf.RevisionFile, "2")
	c.expect(c.holdFiles(before, removed), "GresInUse: it removes GresTypes that unfinished jobs have or ask for, which slurmctld would give to other jobs, too: nic (job 5);")
	c.write("no-job-details", "")
	c.expect(c.holdFiles(before, fewer), "slurmctld does not say which jobs there are")
	c.expect(c.holdFiles(before, removed), "slurmctld does not say which jobs there are")
}

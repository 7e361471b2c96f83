package inuse

import (
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// TestOverTimeLimit: slurmctld ends a running job within a minute when it has run past its limit for longer than allowed.
func TestOverTimeLimit(t *testing.T) {
	const general = "OverTimeLimit=UNLIMITED\n"
	const hour, unlimited = "5|a|2:01:00|1:00:00|\n", "6_1|a|3-02:00:00|UNLIMITED|\n7|a|30:00|1-00:00:00|\n" // past its limit for 61 minutes
	for _, tc := range []struct{ name, jobs, before, after, want string }{
		{"removed", hour, general, "", "NodeInUse: it lowers OverTimeLimit, and slurmctld would end jobs that run past their time limit: 5; "},
		{"lower", hour, general, "OverTimeLimit=61\n", "would end jobs that run past their time limit: 5; "},
		{"still long enough", hour, general, "overtimelimit=62\n", ""},
		{"raised", hour, "OverTimeLimit=5\n", "OverTimeLimit=6\n", ""},
		{"no job is past its limit", unlimited, general, "", ""},
		{"of the partition", hour, inForce + "PartitionName=p OverTimeLimit=UNLIMITED\n", "", ""},
		{"of another partition", hour, general, general + "PartitionName=p OverTimeLimit=1\n", ""},
		{"of the partition, which has its own", hour, general, general + "PartitionName=DEFAULT OverTimeLimit=1\n" + inForce, "jobs that run past their time limit: 5; "},
		{"a partition that keeps its own", hour, general + "PartitionName=DEFAULT OverTimeLimit=UNLIMITED\n" + inForce,
			"PartitionName=DEFAULT OverTimeLimit=UNLIMITED\n" + inForce, ""},
		{"unreadable times", "5|a|INVALID|1:00:00|\n", general, "", "slurmctld does not say which jobs there are: squeue printed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, "")
			c.write("times", tc.jobs)
			c.write("squeue", "#!/bin/sh\ncase \"$*\" in *TimeUsed*) cat "+c.dir+"/times ;; esac\n")
			before := filesOf("slurm.conf", inForce+tc.before)
			after := filesOf("slurm.conf", inForce+tc.after, slurmconf.RevisionFile, "2")
			c.expect(c.holdFiles(before, after), tc.want)
			c.write("wanted/"+slurmconf.ForcedRevisionFile, "2\n")
			c.expect(c.holdFiles(before, after), "")
		})
	}
	c := newCluster(t, "")
	c.write("no-jobs-list", "")
	c.expect(c.holdFiles(filesOf("slurm.conf", inForce+general), filesOf("slurm.conf", inForce)), "does not say which jobs there are")
}

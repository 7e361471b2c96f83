package inuse

import (
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// TestLimitsThatAreEnforcedFromNowOn: slurmctld ends a running job beyond MaxTRESMins of its association within a minute.
func TestLimitsThatAreEnforcedFromNowOn(t *testing.T) {
	const running = "5|RUNNING|a||n1|N/A|N/A|N/A|N/A|\n"
	const waiting = "NodeInUse: it makes slurmctld enforce limits (AccountingStorageEnforce), and slurmctld would end jobs that have used more: 5"
	for _, tc := range []struct{ name, before, after, jobs, want string }{
		{"limits", "associations", "associations,limits", running, waiting},
		{"safe", "qos", "QOS,Safe", running, waiting},
		{"all", "associations", "all", running, waiting},
		{"no job runs", "associations", "limits", "", ""},
		{"they are enforced already", "safe", "limits", running, ""},
		{"something else", "associations", "associations,qos", running, ""},
		{"slurmctld says something else", "associations", "limits", "?", "slurmctld does not say which jobs there are"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, tc.jobs)
			conf := func(enforce string) string {
				return "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageEnforce=" + enforce + "\n" + inForce
			}
			c.expect(c.holdFiles(filesOf("slurm.conf", conf(tc.before), slurmconf.RevisionFile, "1"),
				filesOf("slurm.conf", conf(tc.after), slurmconf.RevisionFile, "2")), tc.want)
		})
	}
}

// TestAnotherQOSOfAPartition: slurmctld ends a running job beyond MaxTRESMins of the QOS of its partition within a minute.
func TestAnotherQOSOfAPartition(t *testing.T) {
	const running = "5|RUNNING|a||n1|N/A|N/A|N/A|N/A|\n6|RUNNING|b||n1|N/A|N/A|N/A|N/A|\n"
	const waiting = "NodeInUse: it gives another QOS to the partitions a, and slurmctld would end jobs that have used more than its limits allow: 5; "
	for _, tc := range []struct{ name, enforce, before, after, jobs, want string }{
		{"its first", "limits", "", " QOS=tiny", running, waiting},
		{"another", "safe", " QOS=large", " qos=tiny", running, waiting},
		{"the same, in quotes", "limits", " QOS=tiny", " QOS=\"tiny\"", running, ""},
		{"none any more", "limits", " QOS=tiny", "", running, ""},
		{"jobs run elsewhere", "limits", "", " QOS=tiny", "6|RUNNING|b||n1|N/A|N/A|N/A|N/A|\n", ""},
		{"limits are not enforced", "associations", "", " QOS=tiny", running, ""},
		{"slurmctld says something else", "limits", "", " QOS=tiny", "?", "slurmctld does not say which jobs there are"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, tc.jobs)
			conf := func(options string) string {
				return "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageEnforce=" + tc.enforce + "\n" +
					"PartitionName=a" + options + "\nPartitionName=b\nPartitionName=closed State=DOWN\n"
			}
			c.expect(c.holdFiles(filesOf("slurm.conf", conf(tc.before), slurmconf.RevisionFile, "1"),
				filesOf("slurm.conf", conf(tc.after), slurmconf.RevisionFile, "2")), tc.want)
		})
	}
}

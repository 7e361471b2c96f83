package inuse

import (
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// TestLimitsThatAreEnforcedFromNowOn: slurmctld ends a running job beyond MaxTRESMins of its association within a minute.
func TestLimitsThatAreEnforcedFromNowOn(t *testing.T) {
	const running = "5|RUNNING|a||n1|N/A|N/A|N/A|N/A|\n"
	const waiting = "NodeInUse: it makes slurmctld end jobs at limits (AccountingStorageEnforce with limits, without safe), and slurmctld " +
		"would end jobs that have used more: 5"
	for _, tc := range []struct{ name, before, after, jobs, want string }{
		{"limits", "associations", "associations,limits", running, waiting},
		{"limits, by their number", "associations", "2", running, waiting},
		{"associations, by their number", "none", "1", running, ""},
		{"safe, which ends no job", "qos", "QOS,Safe", running, ""},
		{"limits and safe", "associations", "limits,safe", running, ""},
		{"all, which includes safe", "associations", "all", running, ""},
		{"safe is removed", "associations,Limits,Safe", "associations,limits", running, waiting},
		{"limits in place of safe", "safe", "limits", running, waiting},
		{"limits in place of all", "all,nojobs", "associations,limits,qos", running, waiting},
		{"in quotes", "associations", "\"associations,limits\"", running, waiting},
		{"no job runs", "associations", "limits", "", ""},
		{"jobs end at them already", "limits", "limits,qos", running, ""},
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
	const waiting = "NodeInUse: it changes or removes the QOS of the partitions a, and slurmctld would end jobs that have used more than " +
		"the limits that apply then: 5; "
	for _, tc := range []struct{ name, enforce, before, after, jobs, want string }{
		{"its first", "limits", "", " QOS=tiny", running, waiting},
		{"another", "limits", " QOS=large", " qos=tiny", running, waiting},
		{"the same, in quotes", "limits", " QOS=tiny", " QOS=\"tiny\"", running, ""},
		{"none any more", "limits", " QOS=large", "", running, waiting}, // it has hidden the limits of other QOS
		{"none any more, and no job ends at limits", "limits,safe", " QOS=large", "", running, ""},
		{"jobs run elsewhere", "limits", "", " QOS=tiny", "6|RUNNING|b||n1|N/A|N/A|N/A|N/A|\n", ""},
		{"limits are not enforced", "associations", "", " QOS=tiny", running, ""},
		{"no job ends at limits", "safe", "", " QOS=tiny", running, ""},
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

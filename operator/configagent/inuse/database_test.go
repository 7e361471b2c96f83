package inuse

import (
	"context"
	"os"
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// TestWhatSlurmdbdMustKnow: slurmctld ends at each start with a TRES that slurmdbd cannot make, and without associations.
func TestWhatSlurmdbdMustKnow(t *testing.T) {
	const dbd = "AccountingStorageType=accounting_storage/slurmdbd\n"
	const adds = "SlurmdbdDown: it adds gres/gpu to AccountingStorageTRES"
	for _, tc := range []struct{ name, before, after, missing, want string }{
		{"another TRES", dbd, dbd + "accountingstoragetres=gres/gpu\n", "slurmdbd", adds},
		{"another TRES without a database", dbd + "AccountingStorageTRES=cpu\n", dbd + "AccountingStorageTRES=cpu,Gres/GPU\n", "database",
			adds + " (sacctmgr"},
		{"another TRES, and everything answers", dbd, dbd + "AccountingStorageTRES=gres/gpu\n", "", ""},
		{"another TRES, and another slurmdbd", dbd + "AccountingStorageHost=old\n", dbd + "AccountingStorageHost=new\nAccountingStorageTRES=gres/gpu\n",
			"database", ""}, // sacctmgr would ask the old one
		{"built-in TRES", dbd, dbd + "AccountingStorageTRES=cpu,mem,gres/gpumem,node\n", "slurmdbd", ""},
		{"another TRES, and a slurm.conf that sacctmgr cannot read", dbd, dbd + "AccountingStorageTRES=gres/gpu\n", "slurm.conf", ""},
		{"another TRES, before slurmctld starts", dbd, dbd + "AccountingStorageTRES=gres/gpu\n", "slurmctld",
			"SlurmdbdDown: it adds gres/gpu to AccountingStorageTRES"},
		{"accounting, before slurmctld starts", "", dbd, "slurmctld", ""},
		{"the same TRES", dbd + "AccountingStorageTRES=gres/gpu,cpu\n", dbd + "AccountingStorageTRES=cpu,gres/gpu\n", "slurmdbd", ""},
		{"fewer TRES", dbd + "AccountingStorageTRES=gres/gpu\n", dbd, "slurmdbd", ""},
		{"the last list counts", dbd, dbd + "AccountingStorageTRES=gres/gpu\nAccountingStorageTRES=\"\"\n", "slurmdbd", ""},
		{"accounting", "", dbd, "slurmdbd", "SlurmdbdDown: it turns accounting on (AccountingStorageType)"},
		{"accounting, with TRES", "", dbd + "AccountingStorageTRES=gres/gpu\n", "", ""},
		{"no accounting any more", dbd, "AccountingStorageTRES=gres/gpu\n", "slurmdbd", ""}, // the trial refuses it
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, "")
			switch tc.missing {
			case "slurmdbd":
				c.ReachesSlurmdbd = func(context.Context, []slurmconf.Setting) bool { return false }
			case "database":
				c.write("no-database", "")
			case "slurm.conf":
				c.write("sacctmgr", "#!/bin/sh\necho 'sacctmgr: fatal: Unable to process configuration file' >&2; exit 1\n")
			case "slurmctld":
				if err := os.Remove(c.conf()); err != nil {
					t.Fatal(err)
				}
			}
			before, after := filesOf("slurm.conf", tc.before+inForce, slurmconf.RevisionFile, "1"),
				filesOf("slurm.conf", tc.after+inForce, slurmconf.RevisionFile, "2")
			c.expect(c.holdFiles(before, after), tc.want)
			c.write("wanted/"+slurmconf.ForcedRevisionFile, "2")
			c.expect(c.holdFiles(before, after), "")
		})
	}
}

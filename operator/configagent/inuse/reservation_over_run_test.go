package inuse

import (
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// TestResvOverRun: slurmctld ends a running job half a minute after its reservation has ended for longer than allowed.
func TestResvOverRun(t *testing.T) {
	const unlimited = "ResvOverRun=UNLIMITED\n"
	const shown = "ReservationName=over EndTime=2027-01-01T00:00:00 Nodes=n1 State=INACTIVE\n" +
		"ReservationName=now EndTime=2027-01-03T00:00:00 Nodes=n2 State=ACTIVE Comment=a State=INACTIVE\n"
	const waiting = "NodeInUse: it lowers ResvOverRun, and slurmctld would end jobs that run past the end of their reservation: 5; it is applied"
	for _, tc := range []struct{ name, jobs, before, after, want string }{
		{"removed", "5|over|\n6|(null)|\n7|now|\n", unlimited, "", waiting},
		{"lower", "5|over|\n", unlimited, "resvoverrun=600\n", waiting},
		{"raised", "5|over|\n", "ResvOverRun=5\n", "ResvOverRun=6\n", ""},
		{"0 is the default", "5|over|\n", "ResvOverRun=0\n", "", ""},
		{"no reservation has ended", "6|(null)|\n7|now|\n", unlimited, "", ""},
		{"a reservation that is not shown", "5|gone|\n", unlimited, "", waiting},
		{"one of several", "5|now,over|\n", unlimited, "", waiting},
		{"slurmctld says something else", "?\n", unlimited, "", "slurmctld does not say which jobs there are: squeue printed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, "")
			c.write("reservations", shown)
			c.write("running", tc.jobs)
			c.write("squeue", "#!/bin/sh\ncase \"$*\" in *,Reservation:*) cat "+c.dir+"/running ;; esac\n")
			before := filesOf("slurm.conf", inForce+tc.before)
			after := filesOf("slurm.conf", inForce+tc.after, slurmconf.RevisionFile, "2")
			c.expect(c.holdFiles(before, after), tc.want)
			c.write("wanted/"+slurmconf.ForcedRevisionFile, "2\n")
			c.expect(c.holdFiles(before, after), "")
		})
	}
	c := newCluster(t, "")
	c.write("down", "")
	c.expect(c.holdFiles(filesOf("slurm.conf", inForce+unlimited), filesOf("slurm.conf", inForce)), "does not say which jobs there are")
}

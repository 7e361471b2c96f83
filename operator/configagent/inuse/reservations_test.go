package inuse

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// TestReservations: slurmctld deletes a reservation that lost its resources, and holds the jobs that wait for it.
func TestReservations(t *testing.T) {
	const before = inForce + "NodeName=n[1-3] CPUs=4\nLicenses=matlab:2,ansys@server:1\n"
	const shown = "ReservationName=maint StartTime=2027-01-01T00:00:00 Nodes=n[1-2] NodeCnt=2 PartitionName=(null) Licenses=(null) Comment=not Nodes=n9 PartitionName=c\n" +
		"ReservationName=course StartTime=2027-01-01T00:00:00 Nodes=gpu-0 PartitionName=b AllowedPartitions=(null) Licenses=(null)\n" +
		"ReservationName=night StartTime=2027-01-01T00:00:00 Nodes=gpu-0 PartitionName=(null) AllowedPartitions=b,closed Licenses=(null)\n" +
		"ReservationName=seats StartTime=2027-01-01T00:00:00 Nodes=(null) PartitionName=(null) Licenses=matlab:1,ansys@server:1\n"
	for _, tc := range []struct{ name, after, want string }{
		{"nothing is removed", before, ""},
		{"its partition", "PartitionName=a\nPartitionName=closed\nNodeName=n[1-3] CPUs=4\nLicenses=matlab:2,ansys@server:1\n",
			"ReservationInUse: it removes partitions, nodes or licenses of reservations, which slurmctld would delete"},
		{"a partition without one", "PartitionName=b\nPartitionName=closed\nNodeName=n[1-3] CPUs=4\nLicenses=matlab:2,ansys@server:1\n", ""},
		{"one of its nodes", inForce + "NodeName=n[2-3] CPUs=4\nLicenses=matlab:2,ansys@server:1\n", ": maint (node n1); it is applied"},
		{"a node without one", inForce + "NodeName=n[1-2] CPUs=4\nLicenses=matlab:2,ansys@server:1\n", ""},
		{"its license", inForce + "NodeName=n[1-3] CPUs=4\nLicenses=matlab:2\n", ": seats (license ansys@server); it is applied"},
		{"all licenses", inForce + "NodeName=n[1-3] CPUs=4\n", "seats (license ansys@server)"},
		{"a partition that it allows", "PartitionName=a\nPartitionName=b\nNodeName=n[1-3] CPUs=4\nLicenses=matlab:2,ansys@server:1\n", ": night (partition closed); it is applied"},
		{"fewer licenses than it has", inForce + "NodeName=n[1-3] CPUs=4\nLicenses=matlab:2,ansys@server:0\n", ": seats (license ansys@server); it is applied"},
		{"fewer licenses, enough for it", inForce + "NodeName=n[1-3] CPUs=4\nLicenses=matlab:1,ansys@server:1\n", ""},
		{"fewer licenses, in another spelling", inForce + "NodeName=n[1-3] CPUs=4\nLicenses=\"matlab=0;ansys@server=1\"\n", ": seats (license matlab); it is applied"},
		{"as many licenses, in another spelling", inForce + "NodeName=n[1-3] CPUs=4\nLicenses=ansys@server;matlab*2\n", ""},
		{"another number of licenses", inForce + "NodeName=n[1-3] CPUs=4\nLicenses=matlab:9,ansys@server\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, "")
			c.write("reservations", shown)
			was, wanted := filesOf("slurm.conf", before), filesOf("slurm.conf", tc.after, slurmconf.RevisionFile, "2")
			c.expect(c.holdFiles(was, wanted), tc.want)
			c.write("reservations", "No reservations in the system\n")
			c.expect(c.holdFiles(was, wanted), "")
			c.write("reservations", shown)
			c.write("wanted/"+slurmconf.ForcedRevisionFile, "2")
			c.expect(c.holdFiles(was, wanted), "")
		})
	}
	c := newCluster(t, "")
	c.write("down", "")
	c.expect(c.holdFiles(filesOf("slurm.conf", before), filesOf("slurm.conf", inForce+"NodeName=n[1-3] CPUs=4\n")), "if there are any, which slurmctld does not say")
}

// TestShownReservations: the values of a line may have spaces, and a value ends where the next known option begins.
func TestShownReservations(t *testing.T) {
	for _, tc := range []struct {
		name, line, partitions, members string
		isActive                        bool
	}{
		{"spaces at the end of the line", "ReservationName=r PartitionName=p State=ACTIVE BurstBuffer= Users=root Groups=domain users,hpc \n", "p",
			"[{passwd root} {group domain users} {group hpc}]", true},
		{"no value", "ReservationName=r PartitionName= Users= Groups= State=ACTIVE\n", "", "[]", true},
		{"an option inside of a value", "ReservationName=r PartitionName=p Users=aUsers=b,c State=INACTIVE\n", "p",
			"[{passwd aUsers=b} {passwd c}]", false},
		{"options of 26.05", "ReservationName=r PartitionName=(null) Users=a b Groups=(null) State=ACTIVE BurstBuffer= " +
			"AllowedPartitions=p,q QOS=x y MaxStartDelay=1 Comment=Groups=no State=INACTIVE\n", "p,q", "[{passwd a b}]", true},
		{"cores", "ReservationName=r PartitionName=p   NodeName=n1 CoreIDs=0-1   NodeName=n2 CoreIDs=0 TRES=cpu=2 Users=a State=ACTIVE\n", "p",
			"[{passwd a}]", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all := parseReservations(tc.line)
			if len(all) != 1 || all[0].name != "r" {
				t.Fatalf("the reservations are %v", all)
			}
			r := all[0]
			if got := strings.Join(r.of["partition"], ","); got != tc.partitions || fmt.Sprint(r.members) != tc.members || r.isActive != tc.isActive {
				t.Errorf("partitions %s, members %v, active %t; want %s, %s, %t", got, r.members, r.isActive, tc.partitions, tc.members, tc.isActive)
			}
		})
	}
}

// TestLicenses: Slurm reads all of these (scontrol show licenses).
func TestLicenses(t *testing.T) {
	want := map[string]uint64{"matlab": 4, "ansys@server": 1}
	for _, list := range []string{"matlab:4,ansys@server:1", "matlab=4;ansys@server", "matlab*4,ansys@server=1", `"matlab:3, ansys@server,matlab"`} {
		if got := countLicenses(list); !maps.Equal(got, want) {
			t.Errorf("%s are %v", list, got)
		}
	}
}

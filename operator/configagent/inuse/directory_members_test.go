package inuse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// reservationLines are scontrol's lines about reservations.
const reservationLines = "ReservationName=forbob StartTime=2026-11-30T12:00:00 EndTime=2027-11-30T12:00:00 Duration=365-00:00:00 Nodes=n1 " +
	"NodeCnt=1 CoreCnt=16 Features=(null) PartitionName=batch Flags=SPEC_NODES Users=alice,bob Groups=(null) Accounts=(null) Licenses=(null) State=ACTIVE\n" +
	"ReservationName=forhpc Nodes=n2 Flags=SPEC_NODES Users=(null) Groups=hpc,staff Accounts=(null) State=INACTIVE\n" +
	"ReservationName=notcarol Nodes=n3 Users=-carol Groups=(null) Accounts=(null) State=INACTIVE\n" +
	"ReservationName=formine Nodes=n4 Users=(null) Groups=(null) Accounts=mine State=INACTIVE Comment=Users=nobody\n"

// spacedLines are reservations with spaces in the names of users and groups, as in Active Directory.
const spacedLines = "ReservationName=ad Nodes=n2 Users=(null) Groups=domain users,hpc Accounts=(null) State=INACTIVE\n" +
	"ReservationName=smith Nodes=n3 Flags= TRES=cpu=1 Users=alice smith,bob Groups=(null) Accounts=(null) State=INACTIVE\n"

// TestARevisionWaitsForTheUsersOfReservations: each revision makes slurmctld look them up.
func TestARevisionWaitsForTheUsersOfReservations(t *testing.T) {
	for _, tc := range []struct {
		name, shown string
		unknown     []string
		want        string
	}{
		{"all are known", reservationLines, nil, ""},
		{"a user", reservationLines, []string{"passwd bob"}, "UsersUnknown: reservations have users or groups that cannot be found now, and " +
			"slurmctld would delete these reservations or let nobody use them: forbob (user bob); it is applied when"},
		{"a group", reservationLines, []string{"group staff"}, "forhpc (group staff)"},
		{"an excluded user", reservationLines, []string{"passwd carol"}, "notcarol (user carol)"},
		{"all, as while the directory is away", reservationLines,
			[]string{"passwd alice", "passwd bob", "passwd carol", "group hpc", "group staff"},
			"forbob (user alice), forhpc (group hpc), notcarol (user carol)"},
		{"a user of no reservation", reservationLines, []string{"passwd mine", "passwd nobody", "group bob"}, ""},
		{"names with spaces that are known", spacedLines, nil, ""},
		{"a group with spaces", spacedLines, []string{"group domain users"}, "ad (group domain users)"},
		{"a group after one with spaces", spacedLines, []string{"group hpc"}, "ad (group hpc)"},
		{"a user with spaces", spacedLines, []string{"passwd alice smith"}, "smith (user alice smith)"},
		{"parts of names with spaces", spacedLines, []string{"group domain", "group users", "passwd alice", "passwd smith"}, ""},
		{"no reservation", "No reservations in the system\n", []string{"passwd bob"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, "")
			c.write("reservations", tc.shown)
			c.FindUnknown = func(_ context.Context, database string, names []string) ([]string, error) {
				return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
					return !slices.Contains(tc.unknown, database+" "+name)
				}), nil
			}
			c.expect(c.hold(inForce+"# other\n"), tc.want)
			c.write("wanted/"+slurmconf.ForcedRevisionFile, "2")
			c.expect(c.hold(inForce+"# other\n"), "")
		})
	}
}

// TestWhenTheUsersOfReservationsDoNotMatter: they cannot be found, or no reservation has them.
func TestWhenTheUsersOfReservationsDoNotMatter(t *testing.T) {
	nobody := func(_ context.Context, _ string, names []string) ([]string, error) { return names, nil }
	for _, tc := range []struct {
		name   string
		change func(*cluster)
		want   string
	}{
		{"without a directory", func(c *cluster) { c.FindUnknown = nil }, ""},
		{"without a program that looks them up", func(c *cluster) {
			c.FindUnknown = func(context.Context, string, []string) ([]string, error) { return nil, errors.New("no getent") }
		}, ""},
		{"before slurmctld starts", func(c *cluster) {
			if err := os.Remove(c.conf()); err != nil {
				c.Fatal(err)
			}
		}, ""},
		{"while slurmctld does not run", func(c *cluster) { c.write("down", "") }, ""},
		{"while slurmctld starts", func(c *cluster) {
			c.write("down", "")
			c.Silence = NewSilence(func() bool { return true }, time.Now)
		}, "UsersUnknown: slurmctld runs and does not list its reservations"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, "")
			c.write("reservations", reservationLines)
			c.FindUnknown = nobody
			tc.change(c)
			c.expect(c.hold(inForce+"# other\n"), tc.want)
		})
	}
}

// TestADirectoryThatDoesNotAnswer holds revisions and reports no users, because they may exist.
func TestADirectoryThatDoesNotAnswer(t *testing.T) {
	for _, database := range []string{"passwd", "group"} {
		t.Run(database, func(t *testing.T) {
			c := newCluster(t, "")
			c.write("reservations", reservationLines)
			c.FindUnknown = func(_ context.Context, asked string, names []string) ([]string, error) {
				if asked == database {
					return names[:1], fmt.Errorf("looking up: %w", context.DeadlineExceeded)
				}
				return nil, nil
			}
			got := c.hold(inForce + "# other\n")
			c.expect(got, "UsersUnknown: the directory does not answer whether it knows the users and groups of reservations")
			for _, name := range []string{"alice", "bob", "hpc", "cannot be found"} {
				if strings.Contains(got, name) {
					t.Errorf("the revision is held for %q, which has %q", got, name)
				}
			}
		})
	}
}

// TestMembersAreLookedUpAtOnce: each name once, however many reservations have it.
func TestMembersAreLookedUpAtOnce(t *testing.T) {
	c := newCluster(t, "")
	c.write("reservations", reservationLines+strings.ReplaceAll(reservationLines, "=for", "=again"))
	var asked []string
	c.FindUnknown = func(ctx context.Context, database string, names []string) ([]string, error) {
		if _, limited := ctx.Deadline(); !limited {
			t.Error("the directory may take for ever")
		}
		asked = append(asked, database+" "+strings.Join(names, ","))
		return nil, nil
	}
	c.expect(c.hold(inForce+"# other\n"), "")
	if want := []string{"passwd alice,bob,carol", "group hpc,staff"}; !slices.Equal(asked, want) {
		t.Errorf("the directory is asked for %q, want %q", asked, want)
	}
}

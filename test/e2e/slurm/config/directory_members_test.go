//go:build e2e

package config

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hideScript removes the lines that match a pattern from a file that the cluster's daemons read, until showScript restores them.
const (
	hideScript = `grep -v "$2" "$1" >"/inst/scratch/hidden"; mount --bind /inst/scratch/hidden "$1"`
	showScript = `umount "$1"`
)

// findUnknownIn looks users and groups up where the daemons of a cluster do.
func (a *agentBeside) findUnknownIn(ctx context.Context, database string, names []string) ([]string, error) {
	argv := append([]string{"sh", "-c", `d=$1; shift; for n; do getent "$d" -- "$n" >/dev/null || echo "$n"; done`, "getent", database}, names...)
	out, err := a.tr.cluster.Run(ctx, "", argv...)
	return strings.FieldsFunc(out, func(r rune) bool { return r == '\n' }), err
}

// TestARevisionWaitsForTheDirectory: a user and a group of reservations are missing for a while, as if a directory did not answer. The
// reservations stay, and the revision is applied when both are back. A forced revision shows what is lost without waiting.
func TestARevisionWaitsForTheDirectory(t *testing.T) {
	forEachRelease(t, func(t *testing.T, release string, tr trial) {
		a := newAgentBeside(t, tr)
		a.judge.FindUnknown = a.findUnknownIn
		a.cfg.Hold = a.judge.Hold
		text, err := os.ReadFile(filepath.Join(a.etc, "slurm.conf"))
		if err != nil {
			t.Fatal(err)
		}
		first := a.want(string(text), "")
		a.start()
		a.awaitApplied(first)
		group := a.run("id", "-gn", "bob")
		a.run("scontrol", "create", "reservation", "ReservationName=forbob", "StartTime=now", "Duration=60", "Users=alice,bob", "Nodes=n1")
		a.run("scontrol", "create", "reservation", "ReservationName=forgroup", "StartTime=now", "Duration=60", "Groups="+group, "Nodes=n2")
		for _, tc := range []struct{ file, pattern, want string }{
			{"/etc/passwd", "^bob:", "forbob (user bob)"},
			{"/etc/group", "^" + group + ":", "forgroup (group " + group + ")"},
		} {
			a.run("sh", "-c", hideScript, "hide", tc.file, tc.pattern)
			revision := a.want(string(text)+"# without "+tc.pattern+"\n", "")
			a.awaitHeld(revision, "UsersUnknown", tc.want)
			a.expectReservations("forbob", "forgroup")
			a.run("sh", "-c", showScript, "show", tc.file)
			a.awaitApplied(revision)
			a.expectReservations("forbob", "forgroup")
		}
		for _, tc := range []struct{ file, pattern string }{{"/etc/passwd", "^bob:"}, {"/etc/group", "^" + group + ":"}} {
			a.run("sh", "-c", hideScript, "hide", tc.file, tc.pattern)
			a.run("scontrol", "reconfigure")
			t.Logf("%s, a reconfigure without %s: %s", release, tc.pattern, a.run("scontrol", "--oneliner", "show", "reservations"))
			a.run("sh", "-c", showScript, "show", tc.file)
		}
	})
}

// expectReservations checks that slurmctld has reservations.
func (a *agentBeside) expectReservations(names ...string) {
	a.Helper()
	shown := a.run("scontrol", "--oneliner", "show", "reservations")
	for _, name := range names {
		if !strings.Contains(shown, "ReservationName="+name+" ") {
			a.Errorf("there is no reservation %s: %s", name, shown)
		}
	}
}

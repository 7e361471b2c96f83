package releases

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// release parses a release; "" is an unknown one.
func release(t *testing.T, text string) Release {
	t.Helper()
	if text == "" {
		return Release{}
	}
	out, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestJudge(t *testing.T) {
	for _, tc := range []struct {
		name     string
		daemon   Daemon
		from, to string
		// others are "daemon release" of the cluster.
		others          string
		reason, message string
	}{
		{"slurmdbd goes first", Slurmdbd, "24.11", "26.05", "slurmctld 24.11, slurmrestd 24.11", "Allowed",
			"the cluster works with slurmdbd 26.05"},
		{"slurmctld follows it", Slurmctld, "24.11", "26.05", "slurmdbd 26.05, slurmd 24.11, sackd 24.11", "Allowed", ""},
		{"login pods follow slurmctld", Sackd, "24.11", "26.05", "slurmdbd 26.05, slurmctld 26.05, slurmrestd 24.11",
			"Allowed", ""},
		{"without slurmdbd slurmctld is first", Slurmctld, "24.11", "25.05", "slurmrestd 24.11", "Allowed", ""},
		{"slurmctld waits for slurmdbd", Slurmctld, "24.11", "26.05", "slurmdbd 25.11", "WaitingForSlurmdbd",
			"slurmctld 26.05 does not work with the slurmdbd of x0, which is 25.11: upgrade that to 26.05 or newer first"},
		{"slurmrestd waits for slurmctld", Slurmrestd, "24.11", "26.05", "slurmctld 24.11, slurmdbd 26.05",
			"WaitingForSlurmctld", "the slurmctld of x0, which is 24.11"},
		{"what waits for both names slurmdbd, the first one", Slurmd, "24.11", "26.05", "slurmctld 24.11, slurmdbd 24.11",
			"WaitingForSlurmdbd", ""},
		{"slurmdbd does not go back", Slurmdbd, "26.05", "25.11", "", "Downgrade",
			"slurmdbd 25.11 cannot read what 26.05 has stored: set an image of 26.05 or newer"},
		{"slurmctld does not go back", Slurmctld, "26.05", "24.11", "slurmdbd 26.05", "Downgrade", ""},
		{"login pods may go back", Sackd, "26.05", "24.11", "slurmdbd 26.05, slurmctld 26.05", "Allowed", ""},
		{"but not too far", Sackd, "26.05", "24.05", "slurmdbd 26.05, slurmctld 26.05", "TooOld",
			"sackd 24.05 does not work with the slurmdbd of x0, which is 26.05: set an image of 24.11 or newer"},
		{"a leap of four releases", Slurmctld, "24.05", "26.05", "slurmdbd 26.05", "TooOld",
			"slurmctld 26.05 cannot read what 24.05 has stored: set an image of at most 25.11 first"},
		{"a worker would be left behind", Slurmctld, "25.05", "26.05", "slurmdbd 26.05, slurmd 24.05", "TooOld",
			"the slurmd of x1, which is 24.05, does not work with slurmctld 26.05: upgrade it to 24.11 or newer first"},
		{"a client of slurmdbd would be left behind", Slurmdbd, "25.05", "26.05", "slurmctld 25.05, slurmrestd 24.05",
			"TooOld", "the slurmrestd of x1"},
		{"an unknown image", Slurmrestd, "24.11", "", "slurmctld 26.05", "Unknown",
			"the release of Slurm in the new image is being looked up"},
		{"an unknown release that runs", Slurmctld, "", "26.05", "slurmdbd 26.05", "Unknown", "that runs"},
		{"a daemon without a state may have run anything", Slurmrestd, "", "26.05", "slurmctld 26.05", "Allowed", "works with"},
		{"but it may also stay what it is", Slurmrestd, "", "26.05", "slurmctld 25.11", "Unknown", "that runs"},
		{"an unknown slurmdbd", Slurmctld, "24.11", "26.05", "slurmdbd ", "Unknown",
			"the release of the slurmdbd of x0 is being looked up"},
		{"an unknown client", Slurmdbd, "24.11", "26.05", "slurmctld 24.11, sackd ", "Unknown", "the sackd of x1"},
		{"what is known to be wrong counts more", Slurmctld, "24.11", "26.05", "slurmdbd 24.11, sackd ",
			"WaitingForSlurmdbd", ""},
		{"slurmrestd does not ask of login pods", Slurmrestd, "24.11", "26.05", "slurmctld 26.05, sackd ", "Allowed", ""},
		{"a worker waits for slurmctld", Slurmd, "24.11", "26.05", "slurmctld 25.11, slurmdbd 26.05",
			"WaitingForSlurmctld", "slurmd 26.05 does not work with the slurmctld of x0, which is 25.11"},
		{"a worker may lag by three releases", Slurmd, "26.05", "24.11", "slurmctld 26.05", "Allowed", ""},
		{"and not by four", Slurmd, "26.05", "24.05", "slurmctld 26.05", "TooOld",
			"slurmd 24.05 does not work with the slurmctld of x0, which is 26.05: set an image of 24.11 or newer"},
		{"a worker of a slurmctld that runs elsewhere", Slurmd, "", "", "slurmrestd 26.05", "Allowed",
			"the operator runs neither the slurmctld nor the slurmdbd"},
		{"a worker of an unknown image", Slurmd, "24.11", "", "slurmctld 26.05", "Unknown", "in the new image"},
		{"a slurmctld without others still has its state", Slurmctld, "26.05", "24.11", "", "Downgrade", ""},
		{"another image of the same release", Slurmctld, "26.05", "26.05", "slurmdbd ", "Allowed",
			"slurmctld stays 26.05"},
		{"Slurm older than all that are known", Slurmctld, "20.11", "24.05", "", "TooOld", "20.11"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := Change{Daemon: tc.daemon, From: release(t, tc.from), To: release(t, tc.to)}
			for i, other := range strings.Split(tc.others, ", ") {
				if daemon, of, ok := strings.Cut(other, " "); ok {
					c.Others = append(c.Others, Member{Daemon: Daemon(daemon), Name: fmt.Sprintf("x%d", i), Release: release(t, of)})
				}
			}
			got := Judge(c)
			if got.Reason != tc.reason || !strings.Contains(got.Message, tc.message) || got.Message == "" {
				t.Errorf("it is %+v, not %s %q", got, tc.reason, tc.message)
			}
		})
	}
}

// TestTheFirstRunHasNoState: only the other daemons decide.
func TestTheFirstRunHasNoState(t *testing.T) {
	c := Change{Daemon: Slurmctld, IsFirst: true, To: release(t, "25.05"),
		Others: []Member{{Daemon: Slurmdbd, Name: "Accounting a", Release: release(t, "26.05")}}}
	if got := Judge(c); !got.Allowed() {
		t.Errorf("with a newer slurmdbd: %+v", got)
	}
	c.To = release(t, "26.11")
	if got := Judge(c); got.Reason != ReasonWaitingForSlurmdbd {
		t.Errorf("with an older slurmdbd: %+v", got)
	}
	c.To, c.Stored = release(t, "25.05"), release(t, "25.11") // an earlier Controller left it
	if got := Judge(c); got.Reason != ReasonDowngrade {
		t.Errorf("where somebody else has left a newer state: %+v", got)
	}
}

// TestWhatCannotBeFoundOutMayBeAnyRelease: slurmctld ran with an image that is gone, and its state was replaced by an older
// copy.
func TestWhatCannotBeFoundOutMayBeAnyRelease(t *testing.T) {
	older := release(t, "24.11")
	for _, tc := range []struct {
		stored, client Release
		reason         string
	}{
		{older, older, ReasonAllowed}, {older, release(t, "26.05"), ReasonDowngrade}, {older, Release{}, ReasonUnknown},
		{release(t, "26.05"), older, ReasonDowngrade}, {Release{}, older, ReasonUnknown},
	} {
		got := Judge(Change{Daemon: Slurmctld, IsFromLost: true, To: older, Stored: tc.stored,
			Others: []Member{{Daemon: Slurmrestd, Name: "RestApi r", Release: tc.client}}})
		if got.Reason != tc.reason {
			t.Errorf("with a state of %s and a slurmrestd of %s it is %+v", tc.stored, tc.client, got)
		}
	}
	first := Change{Daemon: Slurmdbd, IsFirst: true, To: older,
		Others: []Member{{Daemon: Slurmctld, Name: "Controller c", Release: release(t, "26.05")}}}
	if got := Judge(first); got.Reason != ReasonDowngrade {
		t.Errorf("a first slurmdbd that is older than slurmctld: %+v", got)
	}
}

// TestADaemonThatHasNeverRunWaitsForNobody: slurmctld waits for the release of its old image, which can never be known.
func TestADaemonThatHasNeverRunWaitsForNobody(t *testing.T) {
	c := Change{Daemon: Sackd, IsFirst: true, To: release(t, "26.05"),
		Others: []Member{{Daemon: Slurmctld, Name: "Controller c", Release: release(t, "25.05")}}}
	if got := Judge(c); !got.Allowed() {
		t.Errorf("it is %+v", got)
	}
	c.To = Release{}
	if got := Judge(c); got.Allowed() {
		t.Errorf("with a release that is not known it is %+v", got)
	}
}

// TestAWayBackWaitsForThoseThatAreNewer: with a copy of its state, slurmctld may get older than it is, but not than workers.
func TestAWayBackWaitsForThoseThatAreNewer(t *testing.T) {
	c := Change{Daemon: Slurmctld, From: release(t, "26.05"), To: release(t, "24.11"), Stored: release(t, "24.11"),
		Others: []Member{{Daemon: Slurmd, Name: "NodeSet w", Release: release(t, "26.05")}}}
	got := Judge(c)
	if got.Reason != ReasonDowngrade || !strings.Contains(got.Message, "the slurmd of NodeSet w, which is 26.05, does not work") {
		t.Errorf("with newer workers: %+v", got)
	}
	c.Others[0].Release, c.Others[0].Newest = release(t, "24.11"), release(t, "26.05")
	if got := Judge(c); got.Allowed() {
		t.Errorf("while some are newer: %+v", got)
	}
	c.Others[0].Newest = Release{}
	if got := Judge(c); !got.Allowed() {
		t.Errorf("with workers as old: %+v", got)
	}
	c = Change{Daemon: Slurmctld, From: release(t, "24.11"), To: release(t, "25.05"),
		Others: []Member{{Daemon: Slurmd, Name: "NodeSet w", Release: release(t, "26.05")}}}
	if got := Judge(c); !got.Allowed() {
		t.Errorf("an upgrade that comes nearer to newer workers: %+v", got)
	}
}

// TestAClientGoesBackWhileItsServerGetsANewRelease: slurmctlds and slurmdbds of the new release already run.
func TestAClientGoesBackWhileItsServerGetsANewRelease(t *testing.T) {
	for _, server := range []Daemon{Slurmctld, Slurmdbd} {
		c := Change{Daemon: Slurmd, From: release(t, "25.05"), To: release(t, "24.05"),
			Others: []Member{{Daemon: server, Name: "x", Release: release(t, "25.05"), Newest: release(t, "26.05")}}}
		if got := Judge(c); got.Reason != ReasonTooOld || !strings.Contains(got.Message, "is 26.05: set an image of 24.11 or newer") {
			t.Errorf("%s 25.05 that becomes 26.05: %+v", server, got)
		}
		c.To = release(t, "24.11")
		if got := Judge(c); !got.Allowed() {
			t.Errorf("%s 25.05 that becomes 26.05, with a worker that is near enough: %+v", server, got)
		}
	}
}

// cluster is the releases of the daemons of a cluster.
type cluster []Member

// newCluster returns one whose daemons are all of a release.
func newCluster(r Release) cluster {
	var out cluster
	for i, d := range []Daemon{Slurmdbd, Slurmctld, Slurmd, Slurmd, Slurmrestd, Sackd} {
		out = append(out, Member{Daemon: d, Name: fmt.Sprintf("x%d", i), Release: r})
	}
	return out
}

// try gives a daemon a release if Judge allows it.
func (c cluster) try(i int, to Release) bool {
	change := Change{Daemon: c[i].Daemon, From: c[i].Release, To: to}
	change.Others = append(append(change.Others, c[:i]...), c[i+1:]...)
	allowed := Judge(change).Allowed()
	if allowed {
		c[i].Release = to
	}
	return allowed
}

// check checks the rules of docs/development/slurm.md about releases that work together, in its own words.
func (c cluster) check(t *testing.T) {
	t.Helper()
	dbd, ctld := c[0].Release.number(), c[1].Release.number()
	if ctld > dbd || dbd-ctld > 3 {
		t.Fatalf("slurmctld is %s, slurmdbd %s", c[1].Release, c[0].Release)
	}
	for _, m := range c[2:] {
		if n := m.Release.number(); n > ctld || ctld-n > 3 || dbd-n > 3 {
			t.Fatalf("%s is %s, slurmctld %s, slurmdbd %s", m.Daemon, m.Release, c[1].Release, c[0].Release)
		}
	}
}

func TestNoAllowedSequenceBreaksACluster(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	start := release(t, "24.11")
	allowed := 0
	for range 500 {
		c := newCluster(start)
		for range 60 {
			i := random.IntN(len(c))
			before := c[i].Release
			if c.try(i, start.plus(random.IntN(12)-4)) {
				allowed++
				if i < 2 && before.isNewerThan(c[i].Release) {
					t.Fatalf("%s went from %s back to %s", c[i].Daemon, before, c[i].Release)
				}
			}
			c.check(t)
		}
	}
	if allowed < 1000 {
		t.Errorf("only %d changes were allowed", allowed)
	}
}

// TestNoAllowedSequenceBreaksAClusterWhosePodsAreReplaced: until a replacement ends, pods of both releases run.
func TestNoAllowedSequenceBreaksAClusterWhosePodsAreReplaced(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	start := release(t, "24.11")
	for range 500 {
		c := newCluster(start)
		applied := make([]Release, len(c))
		for i := range c {
			applied[i] = c[i].Release
		}
		for range 60 {
			i, to := random.IntN(len(c)), start.plus(random.IntN(12)-4)
			if random.IntN(2) == 0 { // its replacement ends
				c[i].Release, c[i].Newest = applied[i], Release{}
				continue
			}
			change := Change{Daemon: c[i].Daemon, From: applied[i], To: to}
			change.Others = append(append(change.Others, c[:i]...), c[i+1:]...)
			if !Judge(change).Allowed() {
				continue
			}
			applied[i], c[i].Newest = to, cmp.Or(c[i].Newest, c[i].Release)
			if to.isNewerThan(c[i].Newest) {
				c[i].Newest = to
			}
			if c[i].Release.isNewerThan(to) {
				c[i].Release = to
			}
			for j := range c { // each with its oldest and newest pods
				for k := range c {
					pods := slices.Clone(c)
					pods[k].Release = cmp.Or(pods[k].Newest, pods[k].Release)
					pods.checkPair(t, j, k)
				}
			}
		}
	}
}

// checkPair checks that two daemons work together.
func (c cluster) checkPair(t *testing.T, i, j int) {
	t.Helper()
	client, server := c[i], c[j]
	if rules[client.Daemon].rank > rules[server.Daemon].rank {
		client, server = server, client
	}
	if !client.Daemon.TalksTo(server.Daemon) {
		return
	}
	if by := server.Release.number() - client.Release.number(); by < 0 || by > 3 {
		t.Fatalf("%s is %s, %s is %s", client.Daemon, client.Release, server.Daemon, server.Release)
	}
}

// TestEveryUpgradeEnds: for any order in which the images are set, waiting ones are allowed as others change.
func TestEveryUpgradeEnds(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, from := range []string{"23.11", "24.05", "24.11", "25.05"} {
		for by := 1; by <= 3; by++ {
			c := newCluster(release(t, from))
			to := c[0].Release.plus(by)
			for range 3 { // slurmdbd, then slurmctld, then the rest
				for _, i := range random.Perm(len(c)) {
					c.try(i, to)
					c.check(t)
				}
			}
			for _, m := range c {
				if m.Release != to {
					t.Errorf("from %s to %s: %s is still %s", from, to, m.Daemon, m.Release)
				}
			}
		}
	}
}

package releases

import (
	"cmp"
	"fmt"
	"slices"
)

// The reasons of verdicts are the reasons of the condition ReleaseAllowed, which operator/api/v1beta1 explains.
// slurm-agent also links this package, and no package of Kubernetes.
const (
	ReasonAllowed             = "Allowed"
	ReasonWaitingForSlurmdbd  = "WaitingForSlurmdbd"
	ReasonWaitingForSlurmctld = "WaitingForSlurmctld"
	ReasonDowngrade           = "Downgrade"
	ReasonTooOld              = "TooOld"
	ReasonUnknown             = "Unknown"
)

// Daemon is a daemon of Slurm, by the name of its program.
type Daemon string

// The daemons whose releases depend on each other. Login pods run sackd.
const (
	Slurmdbd   Daemon = "slurmdbd"
	Slurmctld  Daemon = "slurmctld"
	Slurmd     Daemon = "slurmd"
	Slurmrestd Daemon = "slurmrestd"
	Sackd      Daemon = "sackd"
)

// rules are the input of Judge. A daemon talks to daemons of a higher rank, which must not be older than it is and at
// most maxSkew releases newer (docs/development/slurm.md, "State and releases").
var rules = map[Daemon]struct {
	rank int
	// hasState means that a newer release converts the stored state of an older one, which then cannot read it.
	hasState bool
	// waits is the reason of those that wait for the daemon.
	waits string
}{
	Slurmdbd:   {rank: 2, hasState: true, waits: ReasonWaitingForSlurmdbd},
	Slurmctld:  {rank: 1, hasState: true, waits: ReasonWaitingForSlurmctld},
	Slurmd:     {},
	Slurmrestd: {},
	Sackd:      {},
}

// TalksTo reports whether the releases of two daemons depend on each other.
func (d Daemon) TalksTo(other Daemon) bool { return rules[d].rank != rules[other].rank }

// HasState reports whether a newer release of a daemon converts the stored state of an older one.
func (d Daemon) HasState() bool { return rules[d].hasState }

// maxSkew is the number of releases by which a daemon may be older than the daemons that it talks to. Since 24.11 it
// equals the number of older releases whose state can be read.
const maxSkew = readable

// Member is a daemon of a cluster, or several of one object.
type Member struct {
	Daemon Daemon
	// Name is the name of its object in messages, such as "RestApi api".
	Name string
	// Release is the oldest running release; the zero value is unknown.
	Release Release
	// Newest is the newest release that runs while pods are replaced; the zero value is Release.
	Newest Release
	// IsLost is set if Release can no longer be looked up.
	IsLost bool
}

// String returns the member's name in messages.
func (m Member) String() string { return fmt.Sprintf("the %s of %s", m.Daemon, m.Name) }

// Change is the change of a daemon to an image of another release.
type Change struct {
	Daemon Daemon
	// IsFirst is set if the daemon has never run: it has no clients, and Stored is its only state.
	IsFirst bool
	// From is the running release, and To the release of the image; the zero value is unknown.
	From, To Release
	// IsFromLost is set if From can no longer be looked up. Judge then expects any release.
	IsFromLost bool
	// Stored is the release that wrote the state; the zero value means From.
	Stored Release
	// Others are the other daemons of the cluster.
	Others []Member
}

// Verdict is the decision about a change.
type Verdict struct {
	// Reason is a reason of the condition ReleaseAllowed.
	Reason string
	// Message is what the change waits for, or what the user must do.
	Message string
}

// Allowed reports whether the change may be made.
func (v Verdict) Allowed() bool { return v.Reason == ReasonAllowed }

// Judge returns whether a daemon may get another release now. Allowed changes, made one after the other, keep two
// promises. Every daemon is at least as old as the daemons that it talks to, and at most three releases older. No state
// is given to an older release than the one that wrote it. An unknown release is never allowed, except for workers
// whose cluster runs elsewhere. A daemon may always get another image of its own release. A daemon without a state that
// has never run may get any image, as at its creation.
func Judge(c Change) Verdict {
	matters := func(m Member) bool { return c.Daemon.TalksTo(m.Daemon) }
	switch {
	case c.Daemon == Slurmd && !slices.ContainsFunc(c.Others, matters):
		return Verdict{ReasonAllowed, "the operator runs neither the slurmctld nor the slurmdbd of the workers"}
	case !c.To.IsKnown():
		return unknown("the release of Slurm in the new image")
	case c.IsFirst && !rules[c.Daemon].hasState: // the other daemons may wait for a release that can never be known
		return Verdict{ReasonAllowed, fmt.Sprintf("%s has never run", c.Daemon)}
	case !c.IsFirst && !c.From.IsKnown() && rules[c.Daemon].hasState && !(c.IsFromLost && c.Stored.IsKnown()):
		return unknownRun
	case c.From == c.To:
		return Verdict{ReasonAllowed, fmt.Sprintf("%s stays %s", c.Daemon, c.To)}
	}
	if v := judgeState(c); !v.Allowed() {
		return v
	}
	if v := judgeOthers(c); v.Allowed() || c.IsFirst || c.IsFromLost || c.From.IsKnown() {
		return v
	}
	return unknownRun // it may keep its image
}

// judgeOthers judges the change against all other daemons.
func judgeOthers(c Change) Verdict {
	others := slices.Clone(c.Others)
	slices.SortStableFunc(others, func(a, b Member) int { // those first that are upgraded first
		return cmp.Or(-cmp.Compare(rules[a.Daemon].rank, rules[b.Daemon].rank), cmp.Compare(a.Name, b.Name))
	})
	for _, m := range others {
		if v := judgeSkew(c, m); !v.Allowed() && m.Release.IsKnown() {
			return v
		}
	}
	for _, m := range others {
		if v := judgeSkew(c, m); !v.Allowed() {
			return v
		}
	}
	return Verdict{ReasonAllowed, fmt.Sprintf("the cluster works with %s %s", c.Daemon, c.To)}
}

// unknown is the verdict while something is unknown.
func unknown(what string) Verdict {
	return Verdict{ReasonUnknown, what + " is being looked up"}
}

// unknownRun is the verdict while the running release matters but is unknown.
var unknownRun = unknown("the release of Slurm that runs")

// judgeState judges the change against the daemon's stored state.
func judgeState(c Change) Verdict {
	if rules[c.Daemon].hasState && (!c.IsFirst || c.Stored.IsKnown()) {
		stored := cmp.Or(c.Stored, c.From)
		switch JudgeState(c.To, stored) {
		case StateIsNewer:
			return Verdict{ReasonDowngrade, fmt.Sprintf(
				"%s %s cannot read what %s has stored: set an image of %s or newer", c.Daemon, c.To, stored, stored)}
		case StateIsTooOld:
			return Verdict{ReasonTooOld, fmt.Sprintf(
				"%s %s cannot read what %s has stored: set an image of at most %s first", c.Daemon, c.To, stored,
				stored.plus(readable))}
		case StateIsOurs, StateIsOlder:
		}
	}
	return Verdict{Reason: ReasonAllowed}
}

// judgeSkew judges the change against another daemon.
func judgeSkew(c Change, m Member) Verdict {
	changed, other := rules[c.Daemon], rules[m.Daemon]
	newest := cmp.Or(m.Newest, m.Release)
	switch {
	case !c.Daemon.TalksTo(m.Daemon):
	case !m.Release.IsKnown() && m.IsLost:
		return Verdict{ReasonUnknown, fmt.Sprintf("the release of %s cannot be looked up: its condition ReleaseAllowed says what to do", m)}
	case !m.Release.IsKnown():
		return unknown(fmt.Sprintf("the release of %s", m))
	case changed.rank > other.rank && c.To.number() > m.Release.number()+maxSkew:
		return Verdict{ReasonTooOld, fmt.Sprintf(
			"%s, which is %s, does not work with %s %s: upgrade it to %s or newer first", m, m.Release, c.Daemon, c.To,
			c.To.plus(-maxSkew))}
	case changed.rank > other.rank && (!c.From.IsKnown() || c.From.isNewerThan(c.To)) && newest.isNewerThan(c.To):
		return Verdict{ReasonDowngrade, fmt.Sprintf(
			"%s, which is %s, does not work with %s %s: set an image of %s or older there first", m,
			newest, c.Daemon, c.To, c.To)}
	case changed.rank < other.rank && c.To.isNewerThan(m.Release):
		return Verdict{other.waits, fmt.Sprintf(
			"%s %s does not work with %s, which is %s: upgrade that to %s or newer first", c.Daemon, c.To, m, m.Release,
			c.To)}
	case changed.rank < other.rank && newest.number() > c.To.number()+maxSkew:
		return Verdict{ReasonTooOld, fmt.Sprintf(
			"%s %s does not work with %s, which is %s: set an image of %s or newer", c.Daemon, c.To, m, newest,
			newest.plus(-maxSkew))}
	}
	return Verdict{Reason: ReasonAllowed}
}

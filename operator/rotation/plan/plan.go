package plan

import (
	"slices"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Phase is the progress of a rotation. It is the reason of the condition KeysRotated.
type Phase string

// Phases, in their order.
const (
	// NotBegun is while a rotation is requested, and not all daemons are known to have the present key.
	NotBegun Phase = v1beta1.ReasonWaitingForDaemons
	// Distributing is while daemons learn the new key, which signs nothing yet.
	Distributing Phase = v1beta1.ReasonDistributingKey
	// Resigning is while tokens are signed with another key. It is a step of NextJWT only.
	Resigning Phase = v1beta1.ReasonReplacingTokens
	// Switching is while daemons begin to use the new key.
	Switching Phase = v1beta1.ReasonSwitchingKey
	// Retiring is while daemons forget the old key.
	Retiring Phase = v1beta1.ReasonRetiringKey
	// Rotated is when all daemons have the same single key.
	Rotated Phase = v1beta1.ReasonRotated
)

// Member is a daemon that has the key set.
type Member struct {
	// Name is the name of its pod.
	Name string
	// Loaded is the key set that it uses. It is meaningless with a Problem.
	Loaded KeySet
	// Problem is the reason why the daemon's key set is unknown, or empty.
	Problem string
}

// Input is the input of a step.
type Input struct {
	// Written is the key set that daemons read. It is the zero value as long as they read slurm.key.
	Written KeySet
	// Requested is true if a rotation is requested that has not begun.
	Requested bool
	// Members are all daemons that read the key set.
	Members []Member
	// Outside are the hosts outside of the operator's control.
	Outside Outside
	// NewID is the id that a new key would get.
	NewID string
}

// Outside are hosts that may have the key, and whose key set the operator neither writes nor reads.
type Outside struct {
	// Signs name such hosts, or their server. An empty list means no such hosts.
	Signs []string
	// Unknown is the reason why such hosts may exist unseen, or empty.
	Unknown string
	// Confirmed is the user's confirmation that all hosts outside have a key set: its Confirmation.
	Confirmed string
}

// mayMissKeys reports whether a host outside may lack the written key set.
func (o Outside) mayMissKeys(written KeySet) bool {
	return (len(o.Signs) > 0 || o.Unknown != "") && o.Confirmed != Confirmation(written)
}

// Confirmation returns the text that confirms a key set of two keys for hosts outside. It names the key that is added, or
// the key that becomes the default.
func Confirmation(s KeySet) string {
	if len(s.ids) < 2 {
		return ""
	}
	if s.signs == s.ids[0] {
		return s.ids[1] + "/added"
	}
	return s.ids[1] + "/default"
}

// MustSeeOutside reports whether the next step depends on the hosts outside: all members have the written key set, and the
// next one refuses hosts without it.
func MustSeeOutside(in Input) bool { return len(in.Written.ids) == 2 && len(waitingMembers(in)) == 0 }

// Step is the next step.
type Step struct {
	// Phase is the progress of the rotation once Write is written.
	Phase Phase
	// Write is the key set to write. It is nil if the daemons are not ready for another one, or nothing remains to be done.
	Write *KeySet
	// Waiting are the members that do not use the written key set.
	Waiting []Member
	// WaitsForOutside is true while hosts outside may lack the written key set.
	WaitsForOutside bool
}

// Next returns the next step.
func Next(in Input) Step {
	step := Step{Phase: phaseOf(in.Written), Waiting: waitingMembers(in)}
	if len(step.Waiting) > 0 {
		if len(in.Written.ids) < 2 && in.Requested {
			step.Phase = NotBegun
		}
		return step
	}
	if MustSeeOutside(in) && in.Outside.mayMissKeys(in.Written) {
		step.WaitsForOutside = true
		return step
	}
	next := followingSet(in)
	if next == nil {
		if len(in.Written.ids) <= 1 {
			step.Phase = Rotated
		}
		return step
	}
	step.Write, step.Phase = next, phaseOf(*next)
	// Every member has the set before.
	step.Waiting = slices.Clone(in.Members)
	return step
}

// waitingMembers returns the members that do not use the written key set.
func waitingMembers(in Input) []Member {
	var out []Member
	for _, m := range in.Members {
		if m.Problem != "" || !m.Loaded.Equal(in.Written) {
			out = append(out, m)
		}
	}
	return out
}

// phaseOf returns the progress of a rotation while members learn a key set.
func phaseOf(written KeySet) Phase {
	switch {
	case len(written.ids) < 2:
		return Retiring
	case written.signs == written.ids[0]:
		return Distributing
	}
	return Switching
}

// followingSet returns the key set that follows the written one, which all members use, or nil.
func followingSet(in Input) *KeySet {
	ids := in.Written.ids
	switch {
	case len(ids) == 2 && in.Written.signs == ids[0]:
		return &KeySet{ids: slices.Clone(ids), signs: ids[1]}
	case len(ids) == 2:
		return &KeySet{ids: []string{ids[1]}, signs: ids[1]}
	case !in.Requested:
		return nil
	}
	old := in.Written.Default()
	return &KeySet{ids: []string{old, in.NewID}, signs: old}
}

// Package releases knows the releases of Slurm: their order, the version of the protocol that each writes into its
// state, which states each release can read, and the order of upgrades in a cluster. It is pure.
package releases

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// Release is a major release of Slurm, such as 26.05.
type Release struct{ Year, Month int }

// String returns "26.05".
func (r Release) String() string { return fmt.Sprintf("%02d.%02d", r.Year, r.Month) }

// IsKnown reports whether it is a release, and not the zero value.
func (r Release) IsKnown() bool { return r != Release{} }

// Compare returns -1, 0 or 1 if r is older than, the same as or newer than other.
func (r Release) Compare(other Release) int {
	return cmp.Or(cmp.Compare(r.Year, other.Year), cmp.Compare(r.Month, other.Month))
}

var version = regexp.MustCompile(`\b([0-9]{2})\.([0-9]{2})\b`)

// Parse returns the release in a text such as "slurm-wlm 26.05.5", which slurmctld -V prints.
func Parse(text string) (Release, error) {
	m := version.FindStringSubmatch(text)
	if m == nil {
		return Release{}, fmt.Errorf("%q names no release of Slurm", text)
	}
	year, _ := strconv.Atoi(m[1])
	month, _ := strconv.Atoi(m[2])
	return Release{year, month}, nil
}

// firstTwice is the first release of the schedule with two releases a year, in May and November. firstProtocol is
// the version of its protocol. Each release raises the upper byte by one (SLURM_PROTOCOL_VERSION).
var firstTwice = Release{24, 5}

const firstProtocol = 41

// earlier are the releases before, by the upper byte of the version of their protocol.
var earlier = map[int]Release{38: {22, 5}, 39: {23, 2}, 40: {23, 11}}

// FromProtocol returns the release that writes a version of the protocol, and reports whether one does.
func FromProtocol(protocol uint16) (Release, bool) {
	number := int(protocol >> 8)
	if number < firstProtocol {
		r, ok := earlier[number]
		return r, ok
	}
	since := number - firstProtocol
	return Release{firstTwice.Year + since/2, firstTwice.Month + since%2*6}, true
}

// number returns the position of a release in the order of all, or 0 if it is too old to be known.
func (r Release) number() int {
	if r.Compare(firstTwice) < 0 {
		for number, known := range earlier {
			if known == r {
				return number
			}
		}
		return 0
	}
	out := firstProtocol + 2*(r.Year-firstTwice.Year)
	if r.Month > firstTwice.Month {
		out++
	}
	return out
}

// isNewerThan reports whether r comes after another release in the order of all.
func (r Release) isNewerThan(other Release) bool { return r.number() > other.number() }

// plus returns the release by places later in the order of all releases, or earlier if by is negative. It stops at
// the first known release.
func (r Release) plus(by int) Release {
	number := max(r.number()+by, slices.Min(slices.Collect(maps.Keys(earlier))))
	out, _ := FromProtocol(uint16(number) << 8) //nolint:gosec // releases of the next hundred years
	return out
}

// readable is the number of older releases whose state can be read (Slurm's upgrade guide: since 24.11 the three
// releases before).
const readable = 3

// StateVerdict is what a slurmctld may do with a state.
type StateVerdict int

// The verdicts.
const (
	// StateIsOurs is of a state of the same release.
	StateIsOurs StateVerdict = iota
	// StateIsOlder: slurmctld will convert the state, and the older release then cannot read it.
	StateIsOlder
	// StateIsNewer: slurmctld cannot read the state.
	StateIsNewer
	// StateIsTooOld: an upgrade needs a release in between.
	StateIsTooOld
)

// JudgeState returns what a slurmctld of a release may do with a state that another release wrote.
func JudgeState(slurmctld, state Release) StateVerdict {
	switch by := slurmctld.number() - state.number(); {
	case by < 0:
		return StateIsNewer
	case by == 0:
		return StateIsOurs
	case by <= readable:
		return StateIsOlder
	}
	return StateIsTooOld
}

package view

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// version is a resourceVersion. From the highest bit on, it consists of
//   - the time at which it was made, in milliseconds since 1970;
//   - the replica that made it, a random number of 12 bits;
//   - whether it is partial: the client also has a part of the changes after it;
//   - the age of its oldest fact at that time, 7 bits (see encodeAge).
//
// The later of two versions is the greater number, whichever replicas made them (KEP-5504). A replica can continue from a version of
// another one, because it knows when the facts of that version were true. The parts fit into 62 bits until 2109.
type version uint64

const (
	ageBits     = 7
	partialBit  = 1 << ageBits
	replicaBits = 12
	// timeShift is the position of the time.
	timeShift = replicaBits + 1 + ageBits

	// unknownAge is the age of facts that are too old, or whose age is not known.
	unknownAge = 1<<ageBits - 1
	ageUnit    = 40 * time.Millisecond

	// clockSkew is how much the clocks of two replicas may differ.
	clockSkew = 2 * time.Second
)

// newReplica returns a number that tells the versions of this process from those of others.
func newReplica() version { return version(rand.Uint64N(1 << replicaBits)) }

func newVersion(at time.Time, replica version, age time.Duration) version {
	ms := version(max(at.UnixMilli(), 1))
	return ms<<timeShift | replica<<(ageBits+1) | encodeAge(age)
}

// encodeAge rounds an age up to n² × 40 ms. An age of more than 635 s is unknown.
func encodeAge(age time.Duration) version {
	n := math.Ceil(math.Sqrt(float64(max(age, 0)) / float64(ageUnit)))
	return version(min(n, unknownAge))
}

// at returns when the version was made.
func (v version) at() time.Time { return time.UnixMilli(int64(v >> timeShift)) }

// replica returns who made the version.
func (v version) replica() version { return v >> (ageBits + 1) & (1<<replicaBits - 1) }

// factsSince returns a time at which all facts of the version were true or became true later. It returns false if that is unknown.
func (v version) factsSince() (time.Time, bool) {
	n := v & unknownAge
	return v.at().Add(-time.Duration(n*n) * ageUnit), n != unknownAge
}

// next returns a version of the same replica and age that is a millisecond later, and not partial.
func (v version) next() version { return (v + 1<<timeShift) &^ partialBit }

func (v version) isPartial() bool { return v&partialBit != 0 }

// partial returns the version of clients that have v and a part of the changes after it. It is earlier than v.next().
func (v version) partial() version { return v | partialBit }

// unusable returns a version of a replica that is later than v, and from which no replica continues: its clients list again.
func (v version) unusable(replica version) version {
	return v.next()>>timeShift<<timeShift | replica<<(ageBits+1) | partialBit | unknownAge
}

func (v version) String() string { return strconv.FormatUint(uint64(v), 10) }

// parseVersion reads a resourceVersion; an empty one is 0.
func parseVersion(text string) (version, error) {
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("%q is not a valid resourceVersion", text))
	}
	return version(v), nil
}

func newExpired(v version) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("resourceVersion %s is too old: list again", v))
}

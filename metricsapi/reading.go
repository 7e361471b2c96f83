package metricsapi

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// ComputeEvery is how long a computation is good for without a change in what it
// was computed of: begin times pass and graces end while nothing else happens.
const ComputeEvery = 10 * time.Second

// Reading is what is known of a Slurm cluster at one moment: a snapshot and what
// was computed of it. It is immutable.
type Reading struct {
	snapshot *slurmclient.Snapshot
	demand   demand.Demand
	// pools has the place of each pool in demand.Pools, and in offers, what it offered.
	pools   map[string]int
	offers  []demand.Pool
	overlap overlap
	// took is how long computing it took.
	took time.Duration
}

// polls are what every number is computed of.
func (r *Reading) polls() []slurmclient.Poll {
	return []slurmclient.Poll{r.snapshot.Nodes.Poll, r.snapshot.Jobs.Poll, r.snapshot.Partitions.Poll}
}

// At is when the oldest of what the numbers are computed of was read.
func (r *Reading) At() time.Time {
	at := r.snapshot.Nodes.ReadAt
	for _, p := range r.polls() {
		if p.ReadAt.Before(at) {
			at = p.ReadAt
		}
	}
	return at
}

// Snapshot is what the Reading was computed of, never nil.
func (r *Reading) Snapshot() *slurmclient.Snapshot { return r.snapshot }

// Took is how long it took to compute what the Reading holds.
func (r *Reading) Took() time.Duration { return r.took }

// usable returns why no number may be told of the Reading at now, or nil.
func (r *Reading) usable(now time.Time, maxAge time.Duration) error {
	if err := Stale(now, maxAge, r.polls()...); err != nil {
		return err
	}
	if !r.demand.Known {
		return errNotKnown
	}
	return nil
}

type constError string

func (e constError) Error() string { return string(e) }

const errNotKnown = constError("its demand is not known yet")

// Reader makes the Readings of one cluster and reuses what has not changed. The
// zero value is ready; it is for one goroutine.
type Reader struct {
	last       *Reading
	lastPools  []demand.Pool
	computedAt time.Time
}

// Read returns what the snapshot and the pools come to at now. It writes to neither.
func (m *Reader) Read(now time.Time, s *slurmclient.Snapshot, pools []demand.Pool) *Reading {
	if m.last != nil && now.Sub(m.computedAt) < ComputeEvery && alike(m.last.snapshot, s) && reflect.DeepEqual(m.lastPools, pools) {
		next := *m.last
		next.snapshot = s
		m.last = &next
		return m.last
	}
	begin := time.Now()
	pools = slices.Clone(pools)
	r := &Reading{snapshot: s, demand: demand.Compute(now, s, pools...), pools: map[string]int{}, offers: pools}
	if r.demand.Known {
		for i, p := range pools {
			r.pools[p.Name] = i
		}
		r.overlap = overlapOf(now, s)
	}
	r.took = time.Since(begin)
	m.last, m.lastPools, m.computedAt = r, pools, now
	return r
}

// alike reports that all that demand reads is the same in both.
func alike(a, b *slurmclient.Snapshot) bool {
	same := func(p, q slurmclient.Poll) bool { return p.Known == q.Known && p.Sequence == q.Sequence }
	return same(a.Nodes.Poll, b.Nodes.Poll) && same(a.Jobs.Poll, b.Jobs.Poll) &&
		same(a.Partitions.Poll, b.Partitions.Poll) && same(a.Reservations.Poll, b.Reservations.Poll) &&
		same(a.QOS.Poll, b.QOS.Poll) && maps.Equal(a.Earlier, b.Earlier)
}

// Known reports whether there are numbers at all, however old.
func (r *Reading) Known() bool { return r.demand.Known }

// Settled reports whether nodes, jobs and partitions were each read, or have
// failed to be, at least once.
func (r *Reading) Settled() bool {
	for _, p := range r.polls() {
		if !p.Known && p.Err == nil {
			return false
		}
	}
	return true
}

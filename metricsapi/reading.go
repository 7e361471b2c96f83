package metricsapi

import (
	"maps"
	"reflect"
	"slices"
	"sync"
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
	// err is why there are no numbers, nil where there are.
	err error
}

// polls are what every number is computed of.
func (r *Reading) polls() []slurmclient.Poll {
	return []slurmclient.Poll{r.snapshot.Nodes.Poll, r.snapshot.Jobs.Poll, r.snapshot.Partitions.Poll}
}

// At is when the oldest of what the numbers are computed of was read.
func (r *Reading) At() time.Time {
	at := r.snapshot.Nodes.AsOf()
	for _, p := range r.polls() {
		if p.AsOf().Before(at) {
			at = p.AsOf()
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
	if r.err != nil {
		return r.err
	}
	if !r.demand.Known {
		return errNotKnown
	}
	return nil
}

// Err is the panic that kept the numbers from being computed, nil for none.
func (r *Reading) Err() error { return r.err }

// Demand is what was computed of the snapshot and the pools. Nobody writes to it.
func (r *Reading) Demand() (demand.Demand, error) { return r.demand, r.err }

type constError string

func (e constError) Error() string { return string(e) }

const errNotKnown = constError("its demand is not known yet")

// Reader makes the Readings of one cluster and reuses what has not changed, so that all who
// ask have one number. The zero value is ready. It may be used by several goroutines.
type Reader struct {
	mu         sync.Mutex
	last       *Reading
	lastPools  []demand.Pool
	computedAt time.Time
}

// Read returns what the snapshot and the pools come to at now. It writes to neither. A
// computation that panics makes a Reading with an Err, until something changes. Read waits
// for another one that is under way.
func (m *Reader) Read(now time.Time, s *slurmclient.Snapshot, pools []demand.Pool) *Reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last != nil && now.Sub(m.computedAt) < ComputeEvery && alike(m.last.snapshot, s) && reflect.DeepEqual(m.lastPools, pools) {
		next := *m.last
		next.snapshot = s
		m.last = &next
		return m.last
	}
	begin := time.Now()
	pools = slices.Clone(pools)
	r := &Reading{snapshot: s, pools: map[string]int{}, offers: pools}
	if err := slurmclient.Guard("computing the demand", func() { r.compute(now) }); err != nil {
		r = &Reading{snapshot: s, err: err}
	}
	r.took = time.Since(begin)
	m.last, m.lastPools, m.computedAt = r, pools, now
	return r
}

func (r *Reading) compute(now time.Time) {
	r.demand = demand.Compute(now, r.snapshot, r.offers...)
	if !r.demand.Known {
		return
	}
	for i, p := range r.offers {
		r.pools[p.Name] = i
	}
	r.overlap = overlapOf(now, r.snapshot)
}

// alike reports that all that demand reads is the same in both.
func alike(a, b *slurmclient.Snapshot) bool {
	same := func(p, q slurmclient.Poll) bool { return p.Known == q.Known && p.Sequence == q.Sequence }
	return same(a.Nodes.Poll, b.Nodes.Poll) && same(a.Jobs.Poll, b.Jobs.Poll) &&
		same(a.Partitions.Poll, b.Partitions.Poll) && same(a.Reservations.Poll, b.Reservations.Poll) &&
		same(a.QOS.Poll, b.QOS.Poll) && same(a.Associations.Poll, b.Associations.Poll) &&
		same(a.Licenses.Poll, b.Licenses.Poll) && same(a.Conf.Poll, b.Conf.Poll) && maps.Equal(a.Earlier, b.Earlier)
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

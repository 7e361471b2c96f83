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

// ComputeEvery is how long the numbers are valid for unchanged inputs. Begin times pass and
// graces end without a change in Slurm.
const ComputeEvery = 10 * time.Second

// Reading is what is known of a Slurm cluster at one moment: a snapshot and the numbers computed
// from it. It is immutable.
type Reading struct {
	snapshot *slurmclient.Snapshot
	demand   demand.Demand
	// poolIndex is the index of each pool, by name, in demand.Pools and in pools.
	poolIndex map[string]int
	pools     []demand.Pool
	// computeTime is how long the computation took.
	computeTime time.Duration
	// err is the panic because of which there are no numbers, nil for none.
	err error
}

// polls returns the polls of the resources that every number depends on.
func (r *Reading) polls() []slurmclient.Poll {
	return []slurmclient.Poll{r.snapshot.Nodes.Poll, r.snapshot.Jobs.Poll, r.snapshot.Partitions.Poll}
}

// ReadAt returns when the oldest resource of the numbers was read.
func (r *Reading) ReadAt() time.Time {
	at := r.snapshot.Nodes.AsOf()
	for _, p := range r.polls() {
		if p.AsOf().Before(at) {
			at = p.AsOf()
		}
	}
	return at
}

// Snapshot returns the snapshot of the Reading, never nil.
func (r *Reading) Snapshot() *slurmclient.Snapshot { return r.snapshot }

// ComputeTime returns how long it took to compute the Reading.
func (r *Reading) ComputeTime() time.Duration { return r.computeTime }

// checkUsable returns an error if the numbers are too old at now, or unknown.
func (r *Reading) checkUsable(now time.Time, maxAge time.Duration) error {
	if err := CheckFresh(now, maxAge, r.polls()...); err != nil {
		return err
	}
	if r.err != nil {
		return r.err
	}
	if !r.demand.Known {
		return errDemandUnknown
	}
	return nil
}

// Err returns the panic that prevented the computation, nil for none.
func (r *Reading) Err() error { return r.err }

// Demand returns the demand of the snapshot and the pools. It must not be modified.
func (r *Reading) Demand() (demand.Demand, error) { return r.demand, r.err }

type constError string

func (e constError) Error() string { return string(e) }

const errDemandUnknown = constError("its demand is not known yet")

// Reader computes the Readings of one cluster and reuses the last one if the inputs have not
// changed, so that all callers get the same numbers. The zero value is ready to use. It is safe
// for concurrent use.
type Reader struct {
	mu         sync.Mutex
	last       *Reading
	lastPools  []demand.Pool
	computedAt time.Time
}

// Read returns the Reading of the snapshot and the pools at now, and modifies neither. If the
// computation panics, the Reading has an Err until the inputs change. Concurrent calls wait for
// each other.
func (m *Reader) Read(now time.Time, s *slurmclient.Snapshot, pools []demand.Pool) *Reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last != nil && now.Sub(m.computedAt) < ComputeEvery && hasSameInputs(m.last.snapshot,
		s) && reflect.DeepEqual(m.lastPools, pools) {
		next := *m.last
		next.snapshot = s
		m.last = &next
		return m.last
	}
	begin := time.Now()
	pools = slices.Clone(pools)
	r := &Reading{snapshot: s, poolIndex: map[string]int{}, pools: pools}
	if err := slurmclient.Guard("computing the demand", func() { r.compute(now) }); err != nil {
		r = &Reading{snapshot: s, err: err}
	}
	r.computeTime = time.Since(begin)
	m.last, m.lastPools, m.computedAt = r, pools, now
	return r
}

func (r *Reading) compute(now time.Time) {
	r.demand = demand.Compute(now, r.snapshot, r.pools...)
	if !r.demand.Known {
		return
	}
	for i, p := range r.pools {
		r.poolIndex[p.Name] = i
	}
}

// hasSameInputs reports whether everything that the demand depends on is the same in both
// snapshots.
func hasSameInputs(a, b *slurmclient.Snapshot) bool {
	same := func(p, q slurmclient.Poll) bool { return p.Known == q.Known && p.Sequence == q.Sequence }
	return same(a.Nodes.Poll, b.Nodes.Poll) && same(a.Jobs.Poll, b.Jobs.Poll) &&
		same(a.Partitions.Poll, b.Partitions.Poll) && same(a.Reservations.Poll, b.Reservations.Poll) &&
		same(a.QOS.Poll, b.QOS.Poll) && same(a.Associations.Poll, b.Associations.Poll) &&
		same(a.Licenses.Poll, b.Licenses.Poll) && same(a.Conf.Poll, b.Conf.Poll) &&
		maps.Equal(a.BusySinceJobs, b.BusySinceJobs)
}

// Known reports whether there are numbers, whatever their age.
func (r *Reading) Known() bool { return r.demand.Known }

// Settled reports whether reading nodes, jobs and partitions has each succeeded or failed at
// least once.
func (r *Reading) Settled() bool {
	for _, p := range r.polls() {
		if !p.Known && p.Err == nil {
			return false
		}
	}
	return true
}

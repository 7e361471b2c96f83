package metricsapi

import (
	"context"
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/memo"
)

// Reading is the known state of a Slurm cluster at one moment: a snapshot and the numbers computed from it. It is
// immutable.
type Reading struct {
	snapshot *slurmclient.Snapshot
	demand   demand.Demand
	// poolIndex is the index of each pool, by name, in demand.Pools and in pools.
	poolIndex map[string]int
	pools     []demand.Pool
	// computeTime is how long the computation took.
	computeTime time.Duration
	// err is the panic that prevented the numbers, or nil.
	err error
}

// polls returns the polls of the resources that every number depends on.
func (r *Reading) polls() []slurmclient.Poll {
	return []slurmclient.Poll{r.snapshot.Nodes.Poll, r.snapshot.Jobs.Poll, r.snapshot.Partitions.Poll}
}

// poolNumbers returns the demand on the pool with the index, and the pool.
func (r *Reading) poolNumbers(at int) *poolNumbers {
	return &poolNumbers{r.demand.Pools[at], r.pools[at]}
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

// Reader computes the Readings of one cluster. It reuses the last one if the inputs have not changed, so all callers
// get the same numbers. The zero value is ready to use. It is safe for concurrent use.
type Reader struct{ memo memo.Memo }

// Read is ReadContext for callers that wait for every Reading.
func (m *Reader) Read(now time.Time, s *slurmclient.Snapshot, pools []demand.Pool) *Reading {
	return newReading(m.memo.Compute(now, s, pools...), s, pools)
}

// ReadContext returns the Reading of the snapshot and the pools at now, and modifies neither. If the
// computation panics, the Reading has an Err until the inputs change. Where the numbers have to be
// computed, concurrent calls wait for each other. When ctx ends, ReadContext returns an error soon.
func (m *Reader) ReadContext(ctx context.Context, now time.Time, s *slurmclient.Snapshot, pools []demand.Pool) (*Reading, error) {
	answer, err := m.memo.ComputeContext(ctx, now, s, pools...)
	if err != nil {
		return nil, err
	}
	return newReading(answer, s, pools), nil
}

func newReading(answer memo.Answer, s *slurmclient.Snapshot, pools []demand.Pool) *Reading {
	r := &Reading{snapshot: s, demand: answer.Demand, computeTime: answer.ComputeTime, err: answer.Err}
	if !r.demand.Known {
		return r
	}
	r.pools, r.poolIndex = slices.Clone(pools), make(map[string]int, len(pools))
	for i, p := range pools {
		r.poolIndex[p.Name] = i
	}
	return r
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

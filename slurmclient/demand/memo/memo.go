// Package memo remembers the last demand, so that all who ask get the same numbers.
package memo

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// MaxAge is how long an answer is valid for unchanged inputs. Begin times pass and graces end
// without a change in Slurm.
const MaxAge = 10 * time.Second

// Memo remembers the last answer of Compute and returns it while the inputs are unchanged, so that
// all callers get the same numbers. The zero value is ready to use. It is safe for concurrent use.
type Memo struct {
	mu       sync.Mutex
	snapshot *slurmclient.Snapshot
	pools    []demand.Pool
	at       time.Time
	answer   Answer
}

// Answer is a remembered result of Compute.
type Answer struct {
	Demand demand.Demand
	// ComputeTime is how long the computation took.
	ComputeTime time.Duration
	// Err is the panic because of which there is no Demand, nil for none.
	Err error
}

// Compute returns what Compute returns for the snapshot and the pools at now, or at an earlier time
// if the inputs have not changed since and the answer is younger than MaxAge. It modifies neither.
// If the computation panics, the answer has an Err until then. Concurrent calls wait for each other.
func (m *Memo) Compute(now time.Time, s *slurmclient.Snapshot, pools ...demand.Pool) Answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.snapshot != nil && now.Sub(m.at) < MaxAge && hasSameInputs(m.snapshot, s) && slices.EqualFunc(m.pools, pools,
		func(a, b demand.Pool) bool { return reflect.DeepEqual(a, b) }) {
		m.snapshot = s
		return m.answer
	}
	m.snapshot, m.pools, m.at, m.answer = s, slices.Clone(pools), now, Answer{}
	begin := time.Now()
	m.answer.Err = slurmclient.Guard("computing the demand",
		func() { m.answer.Demand = demand.Compute(now, s, m.pools...) })
	m.answer.ComputeTime = time.Since(begin)
	return m.answer
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

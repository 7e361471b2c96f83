// Package memo remembers the last demand, so all callers get the same numbers.
package memo

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// MaxAge is how long an answer is valid for unchanged inputs. Begin times pass and graces end even if nothing changes in Slurm.
const MaxAge = 10 * time.Second

// Memo remembers the last answer of demand.Compute and returns it while the inputs are unchanged, so that
// all callers get the same numbers. The zero value is ready to use. It is safe for concurrent use.
//
// Each cluster has its own Memo, so that a slow cluster delays no other one.
type Memo struct {
	// compute replaces demand.ComputeContext in tests; nil otherwise.
	compute computeFunc

	mu     sync.Mutex // never held during a computation
	last   inputs
	answer Answer
	// turn has an element while an answer is computed. Waiting senders get their turn in the order in which they came.
	turn chan struct{}
}

type computeFunc func(ctx context.Context, now time.Time, s *slurmclient.Snapshot, pools ...demand.Pool) (demand.Demand, error)

// inputs are what an answer was computed from.
type inputs struct {
	snapshot *slurmclient.Snapshot
	pools    []demand.Pool
	at       time.Time
}

// Answer is a remembered result of Compute.
type Answer struct {
	Demand demand.Demand
	// ComputeTime is how long the computation took.
	ComputeTime time.Duration
	// Err is the panic that prevented the Demand, or nil.
	Err error
}

// Compute is ComputeContext for callers that wait for every answer.
func (m *Memo) Compute(now time.Time, s *slurmclient.Snapshot, pools ...demand.Pool) Answer {
	answer, _ := m.ComputeContext(context.Background(), now, s, pools...)
	return answer
}

// ComputeContext returns the demand of the snapshot and the pools at now. If the inputs have not changed since an earlier answer that is
// younger than MaxAge, it returns that answer. It modifies neither. If the computation panics, the answer has an Err until then.
//
// It does not wait if it knows the answer, even while another one is computed. Otherwise it waits until no other caller computes an answer.
// When ctx ends, it returns an error soon, and remembers nothing.
func (m *Memo) ComputeContext(ctx context.Context, now time.Time, s *slurmclient.Snapshot, pools ...demand.Pool) (Answer, error) {
	of := inputs{s, pools, now}
	answer, turn := m.findAnswer(of)
	if answer != nil {
		return *answer, nil
	}
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx)
	}
	defer func() { <-turn }()
	if answer, _ := m.findAnswer(of); answer != nil { // another caller has computed it in the meantime
		return *answer, nil
	}
	return m.computeAnswer(ctx, of)
}

// findAnswer returns the remembered answer, or nil, and the channel turn.
func (m *Memo) findAnswer(of inputs) (*Answer, chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.turn == nil {
		m.turn = make(chan struct{}, 1)
	}
	if !m.last.areAnswerFor(of) {
		return nil, m.turn
	}
	m.last.snapshot = of.snapshot
	answer := m.answer
	return &answer, m.turn
}

// computeAnswer computes an answer and remembers it.
func (m *Memo) computeAnswer(ctx context.Context, of inputs) (answer Answer, err error) {
	compute := m.compute
	if compute == nil {
		compute = demand.ComputeContext
	}
	of.pools = slices.Clone(of.pools)
	begin := time.Now()
	answer.Err = slurmclient.Guard("computing the demand",
		func() { answer.Demand, err = compute(ctx, of.at, of.snapshot, of.pools...) })
	answer.ComputeTime = time.Since(begin)
	if err != nil {
		return Answer{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last, m.answer = of, answer
	return answer, nil
}

// areAnswerFor reports whether an answer that was computed from the inputs is also valid for others.
func (i inputs) areAnswerFor(others inputs) bool {
	return i.snapshot != nil && others.at.Sub(i.at) < MaxAge && hasSameInputs(i.snapshot, others.snapshot) &&
		slices.EqualFunc(i.pools, others.pools, func(a, b demand.Pool) bool { return reflect.DeepEqual(a, b) })
}

// hasSameInputs reports whether both snapshots have the same inputs of the demand.
func hasSameInputs(a, b *slurmclient.Snapshot) bool {
	same := func(p, q slurmclient.Poll) bool { return p.Known == q.Known && p.Sequence == q.Sequence }
	return same(a.Nodes.Poll, b.Nodes.Poll) && same(a.Jobs.Poll, b.Jobs.Poll) &&
		same(a.Partitions.Poll, b.Partitions.Poll) && same(a.Reservations.Poll, b.Reservations.Poll) &&
		same(a.QOS.Poll, b.QOS.Poll) && same(a.Associations.Poll, b.Associations.Poll) &&
		same(a.Licenses.Poll, b.Licenses.Poll) && same(a.Conf.Poll, b.Conf.Poll) &&
		maps.Equal(a.BusySinceJobs, b.BusySinceJobs)
}

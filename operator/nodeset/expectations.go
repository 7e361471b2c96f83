package nodeset

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// expectations is what the process knows besides what it reads: its own writes to Slurm that no
// reading shows yet, and when it deleted unregistered workers. Losing it is harmless: writes are
// repeated, and no unregistered worker is deleted at first.
type expectations struct {
	mu       sync.Mutex
	nodeSets map[types.NamespacedName]*nodeSetExpectations
}

type nodeSetExpectations struct {
	// sequence is that of the list of nodes that was last observed.
	sequence              uint64
	pendingWrites         map[string]pendingWrite // by Slurm node
	unregisteredDeletions []time.Time
	// recordsProblem is why FUTURE records could not be created, recordsTriedAt when that was.
	recordsProblem string
	recordsTriedAt time.Time
	// createFailures counts the consecutive rounds in which creations failed, roundFailures the
	// failures in this round. No worker is created before createAfter.
	createFailures, roundFailures int
	createAfter                   time.Time
	// reportedWaits are the waits that were reported, by pod.
	reportedWaits map[string]reportedWait
	// refusedDeletions is why Slurm refuses to delete records, by Slurm node.
	refusedDeletions map[string]string
	// pendingUpdates are the updates of Slurm nodes that no reading shows yet, by name.
	pendingUpdates map[string]pendingUpdate
	pods           *podExpectations
	// reportedMismatch is the mismatch that was last reported.
	reportedMismatch string
	// namespace is what was read of the NodeSet's namespace.
	namespace namespaceIdentity
	// reservationWrittenAt is when the reservation of a scheduled update was last written.
	reservationWrittenAt time.Time
	// conditionsWrittenAt is when pod conditions and Slurm nodes were last updated.
	conditionsWrittenAt time.Time
	// statusWrittenAt is when the status was last written.
	statusWrittenAt time.Time
	// observeNanos is how long the last observation took, in nanoseconds.
	observeNanos atomic.Int64
}

type pendingWrite struct {
	verb plan.Verb
	at   time.Time
	// sequence is that of the list of nodes at the time of the write.
	sequence uint64
}

// outcomeUnknown is a write that failed and may nevertheless have taken effect. Only a reading that
// began later can prove that the Slurm node is drained.
const outcomeUnknown plan.Verb = "outcome-unknown"

type pendingUpdate struct {
	slurmclient.NodeUpdate
	at time.Time
}

// observeDuration returns how long the last observation of a NodeSet took, 0 if there was none.
func (m *expectations) observeDuration(name types.NamespacedName) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if set := m.nodeSets[name]; set != nil {
		return time.Duration(set.observeNanos.Load())
	}
	return 0
}

func newExpectations() *expectations {
	return &expectations{nodeSets: map[types.NamespacedName]*nodeSetExpectations{}}
}

// forNodeSet returns the expectations of a NodeSet. Deletions before the process started are not
// known, so new expectations count as if the allowed number of unregistered workers had just been
// deleted.
func (m *expectations) forNodeSet(name types.NamespacedName, now time.Time) *nodeSetExpectations {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.nodeSets[name]
	if s == nil {
		s = &nodeSetExpectations{pendingWrites: map[string]pendingWrite{}, pendingUpdates: map[string]pendingUpdate{},
			pods: newPodExpectations()}
		for range 1000 {
			s.unregisteredDeletions = append(s.unregisteredDeletions, now)
		}
		m.nodeSets[name] = s
	}
	return s
}

// forgetNodeSet drops the expectations of a NodeSet that is gone.
func (m *expectations) forgetNodeSet(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.nodeSets, name)
}

// expectWrite remembers a write to Slurm. One NodeSet is reconciled by one goroutine at a time, but
// several apply its steps.
func (m *expectations) expectWrite(s *nodeSetExpectations, names []string, verb plan.Verb, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range names {
		s.pendingWrites[name] = pendingWrite{verb, at, s.sequence}
	}
}

// recordRefusal remembers why Slurm refuses to delete a record; nil means that the record was
// deleted.
func (m *expectations) recordRefusal(s *nodeSetExpectations, name string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		delete(s.refusedDeletions, name)
	case s.refusedDeletions == nil:
		s.refusedDeletions = map[string]string{name: err.Error()}
	default:
		s.refusedDeletions[name] = err.Error()
	}
}

const (
	// createRetry is the pause after a round in which creations failed. It doubles with each such
	// round, up to createRetryMost.
	createRetry     = time.Second
	createRetryMost = 5 * time.Minute
	// createTries is how many creations may fail in a round before the others are skipped, and how
	// many are tried in the next round.
	createTries = 5
)

// recordCreateFailure remembers that a worker could not be created, and reports whether it is the
// first failure of the round.
func (m *expectations) recordCreateFailure(s *nodeSetExpectations, at time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.roundFailures++
	if s.roundFailures > 1 {
		return false
	}
	s.createAfter = at.Add(min(createRetry<<min(s.createFailures, 10), createRetryMost))
	s.createFailures++
	return true
}

// hasTooManyFailures reports whether so many creations failed in this round that the others are
// skipped.
func (m *expectations) hasTooManyFailures(s *nodeSetExpectations) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return s.roundFailures >= createTries
}

// beginCreations begins a round. It returns how long no worker may be created, and how many
// consecutive rounds have failed.
func (m *expectations) beginCreations(s *nodeSetExpectations, now time.Time) (wait time.Duration, failures int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.roundFailures = 0
	return max(0, s.createAfter.Sub(now)), s.createFailures
}

// endCreations ends a round. A round that created workers without a failure resets the count of
// failed rounds.
func (m *expectations) endCreations(s *nodeSetExpectations, made int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if made > 0 && s.roundFailures == 0 {
		s.createFailures = 0
	}
}

// recordUnregisteredDeletion remembers that a worker was deleted because it had not registered.
func (m *expectations) recordUnregisteredDeletion(s *nodeSetExpectations, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.unregisteredDeletions = append(s.unregisteredDeletions, at)
}

// expectUpdate remembers the update of a Slurm node.
func (m *expectations) expectUpdate(s *nodeSetExpectations, name string, u slurmclient.NodeUpdate, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.pendingUpdates[name] = pendingUpdate{u, at}
}

// expectsUpdate reports whether the same update was already written and no reading shows it yet.
func (s *nodeSetExpectations) expectsUpdate(name string, u slurmclient.NodeUpdate) bool {
	pending, ok := s.pendingUpdates[name]
	return ok && reflect.DeepEqual(pending.NodeUpdate, u)
}

// overlayWrites applies to a reading the writes since the reading of the nodes began. Such a write
// must not be repeated, and proves nothing. It forgets the writes that the reading shows.
func (s *nodeSetExpectations) overlayWrites(to *plan.SlurmReading, nodesReadAt time.Time, brake time.Duration,
	now time.Time) {
	for name, w := range s.pendingWrites {
		// slurmrestd may report a list as unchanged that still contains a deleted node.
		unchanged := w.verb == plan.DeleteRecord && w.sequence == s.sequence
		if w.at.Before(nodesReadAt) && !unchanged {
			delete(s.pendingWrites, name)
			continue
		}
		record, known := to.Records[name]
		record.Name = name
		if _, proven := to.DrainedSince[name]; proven {
			to.DrainedSince = maps.Clone(to.DrainedSince)
			delete(to.DrainedSince, name)
		}
		switch w.verb {
		case outcomeUnknown:
			continue
		case plan.Drain:
			record.Drain, record.OurReason = true, true
		case plan.AddDrain:
			record.Drain = true
		case plan.Undrain, plan.Resume:
			record.Drain, record.Down, record.OurReason = false, false, false
		case plan.ClearReason:
			record.OurReason = false
		case plan.MarkFuture:
			record = plan.Record{Name: name, Future: true, Dynamic: true, OwnerUID: record.OwnerUID}
		case plan.CreateRecords:
			if !known {
				record = plan.Record{Name: name, Future: true, Dynamic: true}
			}
		case plan.DeleteRecord:
			delete(to.Records, name)
			continue
		}
		to.Records[name] = record
	}
	maps.DeleteFunc(s.pendingUpdates, func(_ string, u pendingUpdate) bool { return u.at.Before(nodesReadAt) })
	s.unregisteredDeletions = slices.DeleteFunc(s.unregisteredDeletions,
		func(t time.Time) bool { return !now.Before(t.Add(brake)) })
}

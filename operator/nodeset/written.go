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
type memory struct {
	mu   sync.Mutex
	sets map[types.NamespacedName]*setMemory
}

type setMemory struct {
	// sequence is that of the list of nodes that was last observed.
	sequence     uint64
	writes       map[string]write // by Slurm node
	unregistered []time.Time
	// recordsProblem is why FUTURE records could not be created, recordsTriedAt when that was.
	recordsProblem string
	recordsTried   time.Time
	// createFailures counts the consecutive rounds in which creations failed, roundFailures the
	// failures in this round. No worker is created before createAfter.
	createFailures, failedNow int
	createAfter               time.Time
	// reportedWaits are the waits that were reported, by pod.
	told map[string]waitTold
	// refusedDeletions is why Slurm refuses to delete records, by Slurm node.
	refused map[string]string
	// pendingUpdates are the updates of Slurm nodes that no reading shows yet, by name.
	updates map[string]update
	pods    *podMemory
	// reportedMismatch is the mismatch that was last reported.
	clash string
	// namespace is what was read of the NodeSet's namespace.
	namespace namespaceOf
	// reservationWrittenAt is when the reservation of a scheduled update was last written.
	reservedAt time.Time
	// conditionsWrittenAt is when pod conditions and Slurm nodes were last updated.
	shownAt time.Time
	// statusWrittenAt is when the status was last written.
	countedAt time.Time
	// observeNanos is how long the last observation took, in nanoseconds.
	look atomic.Int64
}

type write struct {
	verb plan.Verb
	at   time.Time
	// sequence is that of the list of nodes at the time of the write.
	sequence uint64
}

// outcomeUnknown is a write that failed and may nevertheless have taken effect. Only a reading that
// began later can prove that the Slurm node is drained.
const doubtful plan.Verb = "outcome-unknown"

type update struct {
	slurmclient.NodeUpdate
	at time.Time
}

// observeDuration returns how long the last observation of a NodeSet took, 0 if there was none.
func (m *memory) lookOf(name types.NamespacedName) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if set := m.sets[name]; set != nil {
		return time.Duration(set.look.Load())
	}
	return 0
}

func newMemory() *memory { return &memory{sets: map[types.NamespacedName]*setMemory{}} }

// forNodeSet returns the expectations of a NodeSet. Deletions before the process started are not
// known, so new expectations count as if the allowed number of unregistered workers had just been
// deleted.
func (m *memory) of(name types.NamespacedName, now time.Time) *setMemory {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sets[name]
	if s == nil {
		s = &setMemory{writes: map[string]write{}, updates: map[string]update{}, pods: newPodMemory()}
		for range 1000 {
			s.unregistered = append(s.unregistered, now)
		}
		m.sets[name] = s
	}
	return s
}

// forgetNodeSet drops the expectations of a NodeSet that is gone.
func (m *memory) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sets, name)
}

// expectWrite remembers a write to Slurm. One NodeSet is reconciled by one goroutine at a time, but
// several apply its steps.
func (m *memory) wrote(s *setMemory, names []string, verb plan.Verb, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range names {
		s.writes[name] = write{verb, at, s.sequence}
	}
}

// recordRefusal remembers why Slurm refuses to delete a record; nil means that the record was
// deleted.
func (m *memory) refuse(s *setMemory, name string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		delete(s.refused, name)
	case s.refused == nil:
		s.refused = map[string]string{name: err.Error()}
	default:
		s.refused[name] = err.Error()
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
func (m *memory) createFailed(s *setMemory, at time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.failedNow++
	if s.failedNow > 1 {
		return false
	}
	s.createAfter = at.Add(min(createRetry<<min(s.createFailures, 10), createRetryMost))
	s.createFailures++
	return true
}

// hasTooManyFailures reports whether so many creations failed in this round that the others are
// skipped.
func (m *memory) hopeless(s *setMemory) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return s.failedNow >= createTries
}

// beginCreations begins a round. It returns how long no worker may be created, and how many
// consecutive rounds have failed.
func (m *memory) beginCreations(s *setMemory, now time.Time) (wait time.Duration, failures int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.failedNow = 0
	return max(0, s.createAfter.Sub(now)), s.createFailures
}

// endCreations ends a round. A round that created workers without a failure resets the count of
// failed rounds.
func (m *memory) endCreations(s *setMemory, made int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if made > 0 && s.failedNow == 0 {
		s.createFailures = 0
	}
}

// recordUnregisteredDeletion remembers that a worker was deleted because it had not registered.
func (m *memory) deletedUnregistered(s *setMemory, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.unregistered = append(s.unregistered, at)
}

// expectUpdate remembers the update of a Slurm node.
func (m *memory) updated(s *setMemory, name string, u slurmclient.NodeUpdate, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.updates[name] = update{u, at}
}

// expectsUpdate reports whether the same update was already written and no reading shows it yet.
func (s *setMemory) knows(name string, u slurmclient.NodeUpdate) bool {
	pending, ok := s.updates[name]
	return ok && reflect.DeepEqual(pending.NodeUpdate, u)
}

// overlayWrites applies to a reading the writes since the reading of the nodes began. Such a write
// must not be repeated, and proves nothing. It forgets the writes that the reading shows.
func (s *setMemory) overlay(to *plan.Slurm, nodesReadAt time.Time, brake time.Duration, now time.Time) {
	for name, w := range s.writes {
		// slurmrestd may report a list as unchanged that still contains a deleted node.
		unchanged := w.verb == plan.Forget && w.sequence == s.sequence
		if w.at.Before(nodesReadAt) && !unchanged {
			delete(s.writes, name)
			continue
		}
		record, known := to.Records[name]
		record.Name = name
		if _, proven := to.DrainedSince[name]; proven {
			to.DrainedSince = maps.Clone(to.DrainedSince)
			delete(to.DrainedSince, name)
		}
		switch w.verb {
		case doubtful:
			continue
		case plan.Drain:
			record.Drain, record.Ours = true, true
		case plan.Close:
			record.Drain = true
		case plan.Undrain, plan.Resume:
			record.Drain, record.Down, record.Ours = false, false, false
		case plan.Unmark:
			record.Ours = false
		case plan.Retire:
			record = plan.Record{Name: name, Future: true, Dynamic: true, Owner: record.Owner}
		case plan.Records:
			if !known {
				record = plan.Record{Name: name, Future: true, Dynamic: true}
			}
		case plan.Forget:
			delete(to.Records, name)
			continue
		}
		to.Records[name] = record
	}
	maps.DeleteFunc(s.updates, func(_ string, u update) bool { return u.at.Before(nodesReadAt) })
	s.unregistered = slices.DeleteFunc(s.unregistered, func(t time.Time) bool { return !now.Before(t.Add(brake)) })
}

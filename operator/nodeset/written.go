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

// memory is what the process knows beside what it reads: its own writes to Slurm that
// no reading shows yet, and when it deleted workers that were not registered. Losing
// it loses nothing: writes are repeated, and the brake begins closed.
type memory struct {
	mu   sync.Mutex
	sets map[types.NamespacedName]*setMemory
}

type setMemory struct {
	// sequence is that of the list of nodes that was last looked at.
	sequence     uint64
	writes       map[string]write // by Slurm node
	unregistered []time.Time
	// recordsProblem is why FUTURE records could not be made, recordsTried when.
	recordsProblem string
	recordsTried   time.Time
	// createFailures counts the rounds in a row in which workers could not be made, failedNow
	// those that could not in this one; none is made before createAfter.
	createFailures, failedNow int
	createAfter               time.Time
	// told are the waits that were told of, by pod.
	told map[string]waitTold
	// refused is why Slurm refuses to delete records, by Slurm node.
	refused map[string]string
	// updates are what Slurm was told of a Slurm node, by its name.
	updates map[string]update
	pods    *podMemory
	// clash is the clash that was told of.
	clash string
	// namespace is what was read of the NodeSet's namespace.
	namespace namespaceOf
	// reservedAt is when the reservation of a scheduled update was last written.
	reservedAt time.Time
	// shownAt is when pods and Slurm nodes were last told of.
	shownAt time.Time
	// countedAt is when the status was last written.
	countedAt time.Time
	// look is how long the last look at what there is took, in nanoseconds.
	look atomic.Int64
}

type write struct {
	verb plan.Verb
	at   time.Time
	// sequence is that of the list of nodes when it was written.
	sequence uint64
}

// doubtful is a write that failed, and may have been done all the same: until a reading
// that began later, no other one proves that the Slurm node is drained.
const doubtful plan.Verb = "doubtful"

type update struct {
	slurmclient.NodeUpdate
	at time.Time
}

// lookOf is how long the last look at a NodeSet took, 0 for none.
func (m *memory) lookOf(name types.NamespacedName) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if set := m.sets[name]; set != nil {
		return time.Duration(set.look.Load())
	}
	return 0
}

func newMemory() *memory { return &memory{sets: map[types.NamespacedName]*setMemory{}} }

// of returns the memory of a NodeSet. What was deleted before the process began is
// not known, so that a new memory counts as if the brake had been used up.
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

// forget drops the memory of a NodeSet that is gone.
func (m *memory) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sets, name)
}

// wrote remembers a write to Slurm. One NodeSet is reconciled by one goroutine at a
// time, but its steps are applied by several.
func (m *memory) wrote(s *setMemory, names []string, verb plan.Verb, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range names {
		s.writes[name] = write{verb, at, s.sequence}
	}
}

// refuse remembers why Slurm refuses to delete a record, nil for that it was deleted.
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
	// createRetry is how long making workers is left alone after some could not be made; it
	// doubles with each round in which that is so, up to createRetryMost.
	createRetry     = time.Second
	createRetryMost = 5 * time.Minute
	// createTries is how many may fail in a round until the others are left out, and how
	// many are tried in the next.
	createTries = 5
)

// createFailed remembers that a worker could not be made, and reports whether it is the
// first of its round.
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

// hopeless reports that so many workers could not be made in this round that the others
// are not tried.
func (m *memory) hopeless(s *setMemory) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return s.failedNow >= createTries
}

// beginCreations begins a round. It returns for how long no worker is to be made, and how
// many rounds in a row have failed.
func (m *memory) beginCreations(s *setMemory, now time.Time) (wait time.Duration, failures int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.failedNow = 0
	return max(0, s.createAfter.Sub(now)), s.createFailures
}

// endCreations ends a round, and with one that made workers and failed at none the row of
// failures.
func (m *memory) endCreations(s *setMemory, made int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if made > 0 && s.failedNow == 0 {
		s.createFailures = 0
	}
}

// deletedUnregistered remembers that a worker was deleted for not being registered.
func (m *memory) deletedUnregistered(s *setMemory, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.unregistered = append(s.unregistered, at)
}

// updated remembers what Slurm was told of a Slurm node.
func (m *memory) updated(s *setMemory, name string, u slurmclient.NodeUpdate, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.updates[name] = update{u, at}
}

// knows reports that Slurm was told the same already, which no reading shows yet.
func (s *setMemory) knows(name string, u slurmclient.NodeUpdate) bool {
	told, ok := s.updates[name]
	return ok && reflect.DeepEqual(told.NodeUpdate, u)
}

// overlay shows in what was read what was written since the reading of the nodes
// began: such a write is not to be repeated, nor is it proof of anything. It forgets
// writes that the reading has.
func (s *setMemory) overlay(to *plan.Slurm, nodesReadAt time.Time, brake time.Duration, now time.Time) {
	for name, w := range s.writes {
		// A list that is said to be unchanged need not have been made after a deletion:
		// lists were seen to go on having the node.
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

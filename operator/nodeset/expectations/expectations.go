// Package expectations remembers the process's writes that no reading shows yet: writes to Slurm, writes to pods, and the
// pauses after failures. As in Kubernetes' own controllers, losing them costs only requests.
package expectations

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

// Store is what the process knows besides its reads: its own writes to Slurm that no reading shows yet, and when it deleted
// unregistered workers. Losing it is harmless: writes are repeated, and no unregistered worker is deleted at first.
type Store struct {
	mu       sync.Mutex
	nodeSets map[types.NamespacedName]*NodeSet
}

// NodeSet has the expectations of one NodeSet.
type NodeSet struct {
	// Sequence is the sequence of the last observed list of nodes.
	Sequence              uint64
	PendingWrites         map[string]PendingWrite // by Slurm node
	UnregisteredDeletions []time.Time
	// RecordsProblem is the reason why FUTURE records could not be created. RecordsTriedAt is the time of the attempt, and
	// RecordsFailures the number of consecutive failures.
	RecordsProblem string
	// RecordsUnsupported is whether Slurm offers no way to create them here.
	RecordsUnsupported bool
	RecordsTriedAt     time.Time
	RecordsFailures    int
	// createFailures counts the consecutive rounds in which creations failed, roundFailures the
	// failures in this round. No worker is created before CreateAfter.
	createFailures, roundFailures int
	CreateAfter                   time.Time
	// claimsFailures counts the consecutive failures to restore claims, which is not tried before claimsAfter.
	claimsFailures int
	claimsAfter    time.Time
	// ReportedWaits are the waits that were reported, by pod.
	ReportedWaits map[string]ReportedWait
	// SurplusSince is since when FUTURE records have been surplus, by Slurm node.
	SurplusSince map[string]time.Time
	// RefusedDeletions is why records could not be deleted, by Slurm node.
	RefusedDeletions map[string]string
	// gresRefusedAt is when slurmctld last refused the GRES of records that lack them, by Slurm node.
	gresRefusedAt map[string]time.Time
	// pendingUpdates are the updates of Slurm nodes that no reading shows yet, by name.
	pendingUpdates map[string]pendingUpdate
	Pods           *Pods
	goneWorkers    goneWorkers
	// TakenAt is when a name of a worker without a pod was last taken.
	TakenAt time.Time
	// DisplacedAt is when a worker was last deleted because others own its Slurm node.
	DisplacedAt time.Time
	// ReportedMismatch is the mismatch that was last reported.
	ReportedMismatch string
	// Namespace is the last read identity of the NodeSet's namespace.
	Namespace NamespaceIdentity
	// ReservationWrittenAt is when the reservation of a scheduled update was last written.
	ReservationWrittenAt time.Time
	// ConditionsWrittenAt is when pod conditions and Slurm nodes were last updated.
	ConditionsWrittenAt time.Time
	// StatusWrittenAt is when the status was last written.
	StatusWrittenAt time.Time
	// ObserveNanos is how long the last observation took, in nanoseconds.
	ObserveNanos atomic.Int64
}

// PendingWrite is a write to a Slurm node that no reading shows yet.
type PendingWrite struct {
	verb plan.Verb
	at   time.Time
	// sequence is the sequence of the list of nodes at the time of the write.
	sequence uint64
}

// OutcomeUnknown is a write that failed and may nevertheless have taken effect. Only a reading that
// began later can prove that the Slurm node is drained.
const OutcomeUnknown plan.Verb = "outcome-unknown"

type pendingUpdate struct {
	slurmclient.NodeUpdate
	at time.Time
}

// Has reports whether expectations of a NodeSet exist.
func (m *Store) Has(name types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.nodeSets[name] != nil
}

// ObserveDuration returns the duration of the last observation of a NodeSet, or 0.
func (m *Store) ObserveDuration(name types.NamespacedName) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if set := m.nodeSets[name]; set != nil {
		return time.Duration(set.ObserveNanos.Load())
	}
	return 0
}

// New returns a store without expectations.
func New() *Store {
	return &Store{nodeSets: map[types.NamespacedName]*NodeSet{}}
}

// ForNodeSet returns the expectations of a NodeSet. Deletions before the process started are not
// known, so new expectations count as if the allowed number of unregistered workers had just been
// deleted.
func (m *Store) ForNodeSet(name types.NamespacedName, now time.Time) *NodeSet {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.nodeSets[name]
	if s == nil {
		s = &NodeSet{PendingWrites: map[string]PendingWrite{}, pendingUpdates: map[string]pendingUpdate{},
			Pods: NewPods()}
		for range 1000 {
			s.UnregisteredDeletions = append(s.UnregisteredDeletions, now)
		}
		m.nodeSets[name] = s
	}
	return s
}

// ForgetNodeSet drops the expectations of a NodeSet that is gone.
func (m *Store) ForgetNodeSet(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.nodeSets, name)
}

// ExpectWrite remembers a write to Slurm. One NodeSet is reconciled by one goroutine at a time, but
// several apply its steps.
func (m *Store) ExpectWrite(s *NodeSet, names []string, verb plan.Verb, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range names {
		s.PendingWrites[name] = PendingWrite{verb, at, s.Sequence}
	}
}

// RecordRefusal remembers why a record could not be deleted; nil means that the record was
// deleted.
func (m *Store) RecordRefusal(s *NodeSet, name string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		delete(s.RefusedDeletions, name)
	case s.RefusedDeletions == nil:
		s.RefusedDeletions = map[string]string{name: err.Error()}
	default:
		s.RefusedDeletions[name] = err.Error()
	}
}

const (
	// createRetry is the pause after a round with failed creations. It doubles with each such round, up to createRetryMost.
	createRetry     = time.Second
	createRetryMost = 5 * time.Minute
	// CreateTries is the number of creations that may fail in a round before the others are skipped. It is also the number
	// of attempts in the next round.
	CreateTries = 5
)

// RecordCreateFailure remembers that a worker could not be created, and reports whether it is the
// first failure of the round.
func (m *Store) RecordCreateFailure(s *NodeSet, at time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.roundFailures++
	if s.roundFailures > 1 {
		return false
	}
	s.CreateAfter = at.Add(min(createRetry<<min(s.createFailures, 10), createRetryMost))
	s.createFailures++
	return true
}

// ClaimsWait returns the time during which no claims of existing workers are created.
func (m *Store) ClaimsWait(s *NodeSet, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(0, s.claimsAfter.Sub(now))
}

// DelayClaims remembers that claims of existing workers could not be created, and returns the pause before the next
// attempt.
func (m *Store) DelayClaims(s *NodeSet, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	wait := min(createRetry<<min(s.claimsFailures, 10), createRetryMost)
	s.claimsFailures++
	s.claimsAfter = now.Add(wait)
	return wait
}

// ForgetClaimsFailures ends the series of failures.
func (m *Store) ForgetClaimsFailures(s *NodeSet) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.claimsFailures = 0
}

// HasTooManyFailures reports whether enough creations failed in this round to skip the others.
func (m *Store) HasTooManyFailures(s *NodeSet) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return s.roundFailures >= CreateTries
}

// BeginCreations begins a round. It returns the time during which no worker may be created, and the number of consecutive
// failed rounds.
func (m *Store) BeginCreations(s *NodeSet, now time.Time) (wait time.Duration, failures int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.roundFailures = 0
	return max(0, s.CreateAfter.Sub(now)), s.createFailures
}

// EndCreations ends a round. A round that created workers without a failure resets the count of
// failed rounds.
func (m *Store) EndCreations(s *NodeSet, made int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if made > 0 && s.roundFailures == 0 {
		s.createFailures = 0
	}
}

// RecordUnregisteredDeletion remembers that a worker was deleted because it had not registered.
func (m *Store) RecordUnregisteredDeletion(s *NodeSet, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.UnregisteredDeletions = append(s.UnregisteredDeletions, at)
}

// ExpectUpdate remembers the update of a Slurm node.
func (m *Store) ExpectUpdate(s *NodeSet, name string, u slurmclient.NodeUpdate, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.pendingUpdates[name] = pendingUpdate{u, at}
}

// ExpectsUpdate reports whether the same update was already written and no reading shows it yet.
func (s *NodeSet) ExpectsUpdate(name string, u slurmclient.NodeUpdate) bool {
	pending, ok := s.pendingUpdates[name]
	return ok && reflect.DeepEqual(pending.NodeUpdate, u)
}

// OverlayWrites applies to a reading the writes since the reading of the nodes began. Such a write must not be repeated,
// and proves nothing. OverlayWrites forgets the writes that the reading shows.
func (s *NodeSet) OverlayWrites(to *plan.SlurmReading, nodesReadAt time.Time, brake time.Duration,
	now time.Time) {
	for name, w := range s.PendingWrites {
		// slurmrestd may report a list as unchanged that still contains a deleted node.
		unchanged := w.verb == plan.DeleteRecord && w.sequence == s.Sequence
		if w.at.Before(nodesReadAt) && !unchanged {
			delete(s.PendingWrites, name)
			continue
		}
		record, known := to.Records[name]
		record.Name = name
		if _, proven := to.DrainedSince[name]; proven {
			to.DrainedSince = maps.Clone(to.DrainedSince)
			delete(to.DrainedSince, name)
		}
		if !known && changesRecord(w.verb) {
			continue // an invented record would lack its owner, and the fact that it is dynamic
		}
		switch w.verb {
		case OutcomeUnknown:
			continue
		case plan.Drain:
			record.Drain, record.OurReason, record.Fault = true, true, ""
		case plan.AddDrain:
			record.Drain = true
		case plan.Undrain, plan.Resume:
			record.Drain, record.Down, record.OurReason, record.Fault = false, false, false, ""
		case plan.ClearReason:
			record.OurReason = false
		case plan.ClearPod:
			record.Pod = ""
		case plan.MarkFuture:
			record = plan.Record{Name: name, Future: true, Dynamic: true, OwnerUID: record.OwnerUID,
				OtherShape: record.OtherShape, ExceedsShape: record.ExceedsShape}
		case plan.RecreateRecord:
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
	s.UnregisteredDeletions = slices.DeleteFunc(s.UnregisteredDeletions,
		func(t time.Time) bool { return !now.Before(t.Add(brake)) })
}

// changesRecord reports whether a write changes parts of a record that exists, and leaves the others.
func changesRecord(verb plan.Verb) bool {
	switch verb {
	case plan.Drain, plan.AddDrain, plan.Undrain, plan.Resume, plan.ClearReason, plan.ClearPod:
		return true
	}
	return false
}

// ReportedWait is the last report about a worker that waits for its removal: the job that it waits for, and anything else
// that keeps it.
type ReportedWait struct {
	Job   uint32
	Block plan.BlockReason
}

// NamespaceIdentity is the UID of a NodeSet and the UID of its namespace.
type NamespaceIdentity struct{ NodeSet, UID types.UID }

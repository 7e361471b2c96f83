package nodeset

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/reading"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// lastLook is the input that is read right before the deletion of records.
type lastLook struct {
	// named are the objects that name Slurm nodes, by node. needed are the surplus records that pending jobs need, with
	// the reason.
	named, needed map[string]string
}

// lockOfDeletions returns the lock that NodeSets of a cluster hold while they delete records.
func (r *Reconciler) lockOfDeletions(key refs.ClusterKey) *sync.Mutex {
	lock, _ := r.deletions.LoadOrStore(key, &sync.Mutex{})
	return lock.(*sync.Mutex)
}

// readLastLook returns a function that reads, once per reconciliation, what names and needs records. After that no other
// NodeSet of the cluster reads it until unlockDeletions: it would count records that are about to be deleted.
func (s *observation) readLastLook(ctx context.Context) func() (lastLook, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lastLook == nil {
		s.lastLook = sync.OnceValues(func() (lastLook, error) {
			s.deletions.Lock()
			s.deletionsLocked = true
			r, err := s.slurmCluster.ReadReferences(ctx)
			if err != nil {
				return lastLook{}, err
			}
			return lastLook{named: r.References, needed: reading.NeededRecords(r, s.surplus)}, nil
		})
	}
	return s.lastLook
}

// unlockDeletions lets other NodeSets of the cluster delete records.
func (s *observation) unlockDeletions() {
	if s.deletionsLocked {
		s.deletionsLocked = false
		s.deletions.Unlock()
	}
}

// checkUnused checks, right before the deletion of a record, whether a job, a reservation or a partition names it, or a
// pending job needs it. A job may have been submitted since the plan's reading.
func (s *observation) checkUnused(ctx context.Context, slurmNode string) error {
	if s.slurmCluster == nil {
		return errNoSlurmCluster
	}
	look, err := s.readLastLook(ctx)()
	if err != nil {
		return fmt.Errorf("slurm node %s keeps its record: %w", slurmNode, err)
	}
	reason := look.needed[slurmNode]
	if by := look.named[slurmNode]; by != "" {
		reason = by + " names it"
	}
	if reason != "" {
		return fmt.Errorf("slurm node %s keeps its record, because %s: %w", slurmNode, reason, errNotAsSeen)
	}
	return nil
}

// rememberSurplus keeps since when records have been surplus without a break. After a restart of the operator, or a
// reading that is not fresh, the time begins again.
func (s *observation) rememberSurplus(surplus plan.Surplus, now time.Time) {
	s.surplus = surplus
	since := make(map[string]time.Time, len(surplus.Records))
	for _, name := range surplus.Records {
		since[name] = now
		if before, known := s.expectations.SurplusSince[name]; known {
			since[name] = before
		}
	}
	s.expectations.SurplusSince = since
}

package nodeset

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// latestReferences returns a function that reads once per reconciliation which objects name Slurm nodes.
func (s *observation) latestReferences(ctx context.Context) func() (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readReferences == nil {
		s.readReferences = sync.OnceValues(func() (map[string]string, error) { return s.slurmCluster.ReadReferences(ctx) })
	}
	return s.readReferences
}

// checkUnnamed looks right before the deletion of a record whether a job, a reservation or a partition names it. One
// may have been submitted since the reading that the plan is based on.
func (s *observation) checkUnnamed(ctx context.Context, slurmNode string) error {
	if s.slurmCluster == nil {
		return errNoSlurmCluster
	}
	named, err := s.latestReferences(ctx)()
	if err != nil {
		return fmt.Errorf("slurm node %s keeps its record: %w", slurmNode, err)
	}
	if by := named[slurmNode]; by != "" {
		return fmt.Errorf("slurm node %s keeps its record, because %s names it: %w", slurmNode, by, errNotAsSeen)
	}
	return nil
}

// rememberSurplus keeps since when records have been surplus without a break. After a restart of the operator, or a
// reading that is not fresh, the time begins again.
func (s *observation) rememberSurplus(surplus []string, now time.Time) {
	since := make(map[string]time.Time, len(surplus))
	for _, name := range surplus {
		since[name] = now
		if before, known := s.expectations.SurplusSince[name]; known {
			since[name] = before
		}
	}
	s.expectations.SurplusSince = since
}

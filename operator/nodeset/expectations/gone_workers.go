package expectations

import (
	"maps"
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// goneWorkers are the Slurm nodes of workers whose pods disappeared while the process was running. A process knows no pod
// that disappeared before its start.
type goneWorkers struct {
	present map[string]bool
	since   map[string]time.Time
}

// RememberWorker remembers a worker that was created, so that it is missed even if its pod disappears before the next
// observation.
func (m *Store) RememberWorker(s *NodeSet, slurmName string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.goneWorkers.present == nil {
		s.goneWorkers.present = map[string]bool{}
	}
	s.goneWorkers.present[slurmName] = true
}

// MissWorkers returns when the pods of workers were first missed, by Slurm node. It forgets those that
// exist again, and those that both lists of Slurm, which began at readAt or later, are newer than.
func (s *NodeSet) MissWorkers(workers []plan.Worker, now, readAt time.Time) map[string]time.Time {
	present := map[string]bool{}
	for i := range workers {
		present[workers[i].SlurmName] = true
	}
	if s.goneWorkers.since == nil {
		s.goneWorkers.since = map[string]time.Time{}
	}
	for name := range s.goneWorkers.present {
		if _, known := s.goneWorkers.since[name]; name != "" && !known {
			s.goneWorkers.since[name] = now
		}
	}
	maps.DeleteFunc(s.goneWorkers.since, func(name string, since time.Time) bool {
		return present[name] || !readAt.Before(since)
	})
	s.goneWorkers.present = present
	return maps.Clone(s.goneWorkers.since)
}

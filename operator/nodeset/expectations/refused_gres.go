package expectations

import "time"

// gresRetry is the pause before GRES are written again on a record after slurmctld refused them.
const gresRetry = time.Minute

// RefuseGRES remembers that slurmctld refused the GRES of records.
func (m *Store) RefuseGRES(s *NodeSet, names []string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.gresRefusedAt == nil {
		s.gresRefusedAt = map[string]time.Time{}
	}
	for _, name := range names {
		s.gresRefusedAt[name] = at
	}
}

// IsGRESRefused reports whether slurmctld refused the GRES of a record that lacks them. If the record has
// them, it forgets the refusal.
func (s *NodeSet) IsGRESRefused(name string, lost bool) bool {
	_, refused := s.gresRefusedAt[name]
	if refused && !lost {
		delete(s.gresRefusedAt, name)
	}
	return refused && lost
}

// MayWriteGRES reports whether GRES may be written on a record.
func (s *NodeSet) MayWriteGRES(name string, now time.Time) bool {
	at, refused := s.gresRefusedAt[name]
	return !refused || !now.Before(at.Add(gresRetry))
}

package slurmtest

// shared is a record that answers under way may still be reading. The first
// change after an answer was begun copies it, so a list shows one moment however
// long its client takes to read it.
type shared[R any] struct {
	rec *R
	gen uint64
}

// view returns the record for reading.
func (s *shared[R]) view() *R { return s.rec }

// edit returns the record for writing. gen is the cluster's generation.
func (s *shared[R]) edit(gen uint64) *R {
	if s.rec == nil {
		s.rec = new(R)
	} else if s.gen != gen {
		c := *s.rec
		s.rec = &c
	}
	s.gen = gen
	return s.rec
}

package slurmtest

// copyOnWrite is a record that answers in progress may still be reading. The first change after an
// answer began copies the record, so an answer shows one moment however long its client takes to
// read it.
type shared[R any] struct {
	rec *R
	gen uint64
}

// view returns the record for reading.
func (s *shared[R]) view() *R { return s.rec }

// edit returns the record for writing. generation is the cluster's.
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

package slurmtest

// copyOnWrite is a record that answers in progress may still be reading. The first change after an
// answer began copies the record, so an answer shows one moment however long its client takes to
// read it.
type copyOnWrite[R any] struct {
	record     *R
	generation uint64
}

// view returns the record for reading.
func (s *copyOnWrite[R]) view() *R { return s.record }

// edit returns the record for writing. generation is the cluster's.
func (s *copyOnWrite[R]) edit(gen uint64) *R {
	if s.record == nil {
		s.record = new(R)
	} else if s.generation != gen {
		c := *s.record
		s.record = &c
	}
	s.generation = gen
	return s.record
}

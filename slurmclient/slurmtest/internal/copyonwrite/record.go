// Package copyonwrite has records that one moment's readers and later writers share.
package copyonwrite

// Record is a record that answers in progress may still be reading. The first change after an
// answer began copies the record, so an answer shows one moment however long its client takes to
// read it.
type Record[R any] struct {
	record     *R
	generation uint64
}

// New returns a record that was last changed in the given generation.
func New[R any](record *R, generation uint64) Record[R] { return Record[R]{record, generation} }

// View returns the record for reading.
func (s *Record[R]) View() *R { return s.record }

// Edit returns the record for writing. gen is the number of answers begun: a record that an earlier
// answer may be reading is copied first.
func (s *Record[R]) Edit(gen uint64) *R {
	if s.record == nil {
		s.record = new(R)
	} else if s.generation != gen {
		c := *s.record
		s.record = &c
	}
	s.generation = gen
	return s.record
}

package wire

import (
	"io"
	"sync/atomic"
)

// spare keeps the decoder of the last answer for the next one: answers of one record
// come by the hundred, each like the one before, so that they too are compared instead
// of parsed, and nothing is allocated for them.
type spare[T any] struct {
	kept atomic.Pointer[records[T]]
}

// list decodes an answer with the decoder that is kept, or with a fresh one while that
// is in use.
func (s *spare[T]) list(r io.Reader, key string, yield func(*T) error, fresh func() *records[T]) (Envelope, error) {
	rec := s.kept.Swap(nil)
	if rec == nil {
		rec = fresh()
	}
	env, err := list(r, key, rec, yield)
	if err == nil && rec.size() <= mostSpare {
		s.kept.Store(rec)
	}
	return env, err
}

// mostSpare bounds the memory of a decoder that is kept.
const mostSpare = 2 * chunk

// size is about how much memory the decoder has for texts, in bytes.
func (r *records[T]) size() int {
	n := cap(r.window)
	for i := range r.pattern {
		n += cap(r.pattern[i].head) + cap(r.pattern[i].raw)
	}
	return n
}

package wire

import (
	"io"
	"sync/atomic"
)

// decoderCache keeps the decoder of the last answer for the next one. Clients request single records
// by the hundred, and each resembles the previous one. With a kept decoder these records are compared
// instead of parsed as well, and need no allocations.
type spare[T any] struct {
	kept atomic.Pointer[records[T]]
}

// decodeList decodes an answer with the cached decoder, or with a fresh one while that is in use.
func (s *spare[T]) list(
	r io.Reader, key string, yield func(*T) error, fresh func() *records[T],
) (Envelope, error) {
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

// maxCachedBytes limits the memory of a cached decoder.
const mostSpare = 2 * chunk

// memoryBytes returns the approximate memory of the buffers of the decoder, in bytes.
func (r *records[T]) size() int {
	n := cap(r.window)
	for i := range r.pattern {
		n += cap(r.pattern[i].head) + cap(r.pattern[i].raw)
	}
	return n
}

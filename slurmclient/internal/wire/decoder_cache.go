package wire

import (
	"io"
	"sync/atomic"
)

// decoderCache keeps the decoder of the last answer for the next one. Clients request single records
// by the hundred, and each resembles the previous one. With a kept decoder these records are compared
// instead of parsed as well, and need no allocations.
type decoderCache[T any] struct {
	cached atomic.Pointer[recordDecoder[T]]
}

// decodeList decodes an answer with the cached decoder, or with a fresh one while that is in use.
func (s *decoderCache[T]) decodeList(
	r io.Reader, key string, yield func(*T) error, fresh func() *recordDecoder[T],
) (Envelope, error) {
	rec := s.cached.Swap(nil)
	if rec == nil {
		rec = fresh()
	}
	env, err := decodeList(r, key, rec, yield)
	if err == nil && rec.memoryBytes() <= maxCachedBytes {
		s.cached.Store(rec)
	}
	return env, err
}

// maxCachedBytes limits the memory of a cached decoder.
const maxCachedBytes = 2 * chunk

// memoryBytes returns the approximate memory of the buffers of the decoder, in bytes.
func (r *recordDecoder[T]) memoryBytes() int {
	n := cap(r.window)
	for i := range r.pattern {
		n += cap(r.pattern[i].head) + cap(r.pattern[i].raw)
	}
	return n
}

package wire

import (
	"io"
	"sync"
)

// decoderCache keeps the decoders of the last answers for the next ones. Clients request single records by the hundred, several at a
// time, and each resembles the previous one. With a kept decoder these records are compared
// instead of parsed as well, and need no allocations.
type decoderCache[T any] struct {
	mu     sync.Mutex
	cached []*recordDecoder[T]
}

// maxCachedDecoders limits how many decoders are kept: as many as are in use at a time.
const maxCachedDecoders = 28

// decodeList decodes an answer with a cached decoder, or with a fresh one while all are in use.
func (s *decoderCache[T]) decodeList(
	r io.Reader, key string, yield func(*T) error, fresh func() *recordDecoder[T],
) (Envelope, error) {
	rec := s.takeDecoder()
	if rec == nil {
		rec = fresh()
	}
	env, err := decodeList(r, key, rec, yield)
	if err == nil && rec.memoryBytes() <= maxCachedBytes {
		s.putDecoder(rec)
	}
	return env, err
}

// takeDecoder returns the decoder that was used last, nil if all are in use.
func (s *decoderCache[T]) takeDecoder() *recordDecoder[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.cached) - 1
	if last < 0 {
		return nil
	}
	rec := s.cached[last]
	s.cached = s.cached[:last]
	return rec
}

func (s *decoderCache[T]) putDecoder(rec *recordDecoder[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.cached) < maxCachedDecoders {
		s.cached = append(s.cached, rec)
	}
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

package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

const (
	// firstChunk is the initial size of the read buffer, chunk its size for long answers.
	firstChunk = 32 << 10
	chunk      = 512 << 10
	// MaxRecord limits the size of one record or another member of an answer. The record of a job
	// on 10,000 nodes, with its cores, has about 20 MB.
	MaxRecord = 64 << 20
)

// maxListBytes returns how much memory the records of one list may need: a third of what the process may use, and 4 GiB at
// most, so that no server exhausts the memory of a process that reads others, too. A job needs about 1 kB.
func maxListBytes(memoryLimit int64) int { return int(min(memoryLimit/3, 4<<30)) }

// Envelope contains the members of an answer other than its list, as raw JSON. Missing members are nil.
type Envelope struct {
	LastUpdate, LastBackfill, Meta, Errors, Warnings []byte
	// Found is whether the answer has the list. null counts as an empty list.
	Found bool
	// Count is the number of records that were read.
	Count int
}

// decodeList decodes the answer r = {"<key>": [record, …], …} and calls yield for each record in order.
// A record is only valid during the call; yield copies what it keeps. The largest record determines the
// memory used. If decodeList returns an error, the caller must discard all records of the answer.
func decodeList[T any](r io.Reader, key string, rec *recordDecoder[T], yield func(*T) error) (Envelope, error) {
	s := &stream{r: r, buf: rec.window}
	rec.kept = 0
	defer func() { rec.window = s.buf[:0] }()
	var env Envelope
	if err := s.expectByte('{'); err != nil {
		return env, err
	}
	for {
		name, done, err := s.readKey()
		if err != nil {
			return env, err
		}
		if done {
			return env, s.expectEnd()
		}
		if name == key {
			if env.Found {
				return env, syntaxError("%s appears twice", key)
			}
			env.Found = true
			err = recordList(s, rec, func(t *T) error { env.Count++; return yield(t) })
		} else {
			err = s.readOther(name, &env)
		}
		if err != nil {
			return env, err
		}
		last, err := s.readSeparator('}')
		if err != nil {
			return env, err
		}
		if last {
			return env, s.expectEnd()
		}
	}
}

// expectEnd returns an error if anything follows the answer, since a list that was closed too early
// must not pass for a shorter one.
func (s *stream) expectEnd() error {
	c, err := s.peekByte()
	switch {
	case err == nil:
		return syntaxError("%q after the answer", c)
	case s.eof:
		return nil
	}
	return err
}

// stream is a buffered window of the answer: buf[pos:] has been read but not consumed.
type stream struct {
	r     io.Reader
	buf   []byte
	pos   int
	eof   bool
	total int // number of bytes read so far
}

// fill reads more of the answer and moves or grows the buffer as needed.
func (s *stream) fill() error {
	if s.eof {
		return fmt.Errorf("%w: %w", errTruncated, io.ErrUnexpectedEOF)
	}
	if s.pos > 0 {
		s.buf = s.buf[:copy(s.buf, s.buf[s.pos:])]
		s.pos = 0
	}
	if len(s.buf) == cap(s.buf) || s.total > chunk && cap(s.buf) < chunk {
		if cap(s.buf) >= MaxRecord {
			return syntaxError("one value is larger than %d MiB", MaxRecord>>20)
		}
		size := 2 * cap(s.buf)
		if s.total > chunk {
			size = max(size, chunk)
		}
		s.buf = append(make([]byte, 0, size), s.buf...)
	}
	for {
		n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		s.total += n
		if errors.Is(err, io.EOF) {
			s.eof = true
			if n == 0 {
				return fmt.Errorf("%w: %w", errTruncated, io.ErrUnexpectedEOF)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the answer: %w", err)
		}
		if n > 0 {
			return nil
		}
	}
}

// peekByte returns the next byte that is not white space, without consuming it.
func (s *stream) peekByte() (byte, error) {
	for {
		s.pos = skipSpace(s.buf, s.pos)
		if s.pos < len(s.buf) {
			return s.buf[s.pos], nil
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
}

func (s *stream) expectByte(want byte) error {
	c, err := s.peekByte()
	if err != nil {
		return err
	}
	if c != want {
		return syntaxError("%q instead of %q", c, want)
	}
	s.pos++
	return nil
}

// readSeparator consumes the comma after a value, or the closing bracket.
func (s *stream) readSeparator(closing byte) (last bool, err error) {
	c, err := s.peekByte()
	if err != nil {
		return false, err
	}
	if c != ',' && c != closing {
		return false, syntaxError("%q between values", c)
	}
	s.pos++
	return c == closing, nil
}

// readValue returns the bytes of the next complete value. They are valid until the next read from the
// stream.
func (s *stream) readValue() ([]byte, error) {
	if _, err := s.peekByte(); err != nil {
		return nil, err
	}
	for {
		end, err := skipValue(s.buf, s.pos)
		if err == nil {
			v := s.buf[s.pos:end]
			s.pos = end
			return v, nil
		}
		if !errors.Is(err, errTruncated) {
			return nil, err
		}
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
}

// readKey reads the key of a member and its colon; done means that the object is empty.
func (s *stream) readKey() (name string, done bool, err error) {
	c, err := s.peekByte()
	if err != nil {
		return "", false, err
	}
	if c == '}' {
		s.pos++
		return "", true, nil
	}
	if c != '"' {
		return "", false, syntaxError("%q instead of a key", c)
	}
	raw, err := s.readValue()
	if err != nil {
		return "", false, err
	}
	name = string(parseText(raw))
	return name, false, s.expectByte(':')
}

func (s *stream) readOther(name string, env *Envelope) error {
	v, err := s.readValue()
	if err != nil {
		return err
	}
	slot := map[string]*[]byte{
		"last_update": &env.LastUpdate, "last_backfill": &env.LastBackfill,
		"meta": &env.Meta, "errors": &env.Errors, "warnings": &env.Warnings,
	}[name]
	if slot != nil {
		// An unreadable error must not pass for no error.
		if !json.Valid(v) {
			return syntaxError("%s cannot be read", name)
		}
		*slot = append([]byte(nil), v...)
	}
	return nil
}

// recordList reads an array of records.
func recordList[T any](s *stream, rec *recordDecoder[T], yield func(*T) error) error {
	c, err := s.peekByte()
	if err != nil {
		return err
	}
	if c == 'n' {
		_, err := s.readValue()
		return err
	}
	if err := s.expectByte('['); err != nil {
		return err
	}
	var dst T
	size := int(reflect.TypeFor[T]().Size())
	for first := true; ; first = false {
		c, err := s.peekByte()
		if err != nil {
			return err
		}
		if first && c == ']' {
			s.pos++
			return nil
		}
		if c != '{' {
			return syntaxError("%q instead of a record", c)
		}
		if err := readRecord(s, rec, &dst); err != nil {
			return err
		}
		if !rec.named(&dst) {
			return syntaxError("a record has no id or name")
		}
		if rec.kept += size; rec.kept > rec.mostKept {
			return syntaxError("the list needs more than %d MiB of memory", rec.mostKept>>20)
		}
		if err := yield(&dst); err != nil {
			return err
		}
		last, err := s.readSeparator(']')
		if err != nil || last {
			return err
		}
	}
}

func readRecord[T any](s *stream, rec *recordDecoder[T], dst *T) error {
	for {
		end, err := rec.decode(s.buf, s.pos, dst)
		if err == nil {
			s.pos = end
			return nil
		}
		if !errors.Is(err, errTruncated) {
			return err
		}
		if err := s.fill(); err != nil {
			return err
		}
	}
}

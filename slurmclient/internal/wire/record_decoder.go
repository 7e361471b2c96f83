package wire

import (
	"bytes"
	"runtime/debug"
)

// field decodes one member of a record. Members with a zero field are skipped.
type field[T any] struct {
	read func(in *Interner, value []byte, dst *T)
	// valid reports whether the value has a type that read accepts. If it is nil, a value of
	// another type counts as absent. It is set for fields that cannot represent an absent value:
	// an unreadable count must not become 0.
	valid func(value []byte) bool
}

func (f field[T]) apply(in *Interner, key string, value []byte, dst *T) error {
	if f.read == nil {
		return nil
	}
	if f.valid != nil && !f.valid(value) {
		return syntaxError("%s is %.40q", key, value)
	}
	f.read(in, value, dst)
	return nil
}

// recordDecoder decodes the records of a list, each against the previous one.
//
// slurmrestd prints every record with the same keys in the same order, and most values equal the previous record's. A
// record therefore starts as a copy of the previous one, and the bytes of both are compared member by member. Equal
// bytes mean an equal value, so only differing members are parsed. A record of another shape is parsed completely and
// becomes the new pattern.
//
// The comparison is exact. It covers each member from the white space before its key to the comma or brace after its
// value. Equal bytes at the same place in the grammar therefore have the same meaning.
type recordDecoder[T any] struct {
	fields map[string]field[T]
	intern *Interner
	// named reports whether a record has an id or a name.
	named func(*T) bool

	pattern  []patternEntry[T]
	previous T
	// kept is how much memory the records of the answer may need, with the members that differ from the record before.
	// mostKept is its maximum.
	kept, mostKept int
	// window is the buffer into which the answer is read.
	window []byte
}

// memoryOf returns how much memory a value needs at most once it is decoded. The words of a list are short.
func memoryOf(value []byte) int {
	if value[0] == '[' {
		return 8 * len(value)
	}
	return len(value)
}

// patternEntry is one member of the pattern.
type patternEntry[T any] struct {
	head []byte // from the end of the previous member to the value
	raw  []byte // head, the value, and the comma or brace after it
	key  string
	field[T]
}

func newRecords[T any](fields map[string]field[T], in *Interner, named func(*T) bool) *recordDecoder[T] {
	return &recordDecoder[T]{fields: fields, intern: in, named: named, window: make([]byte, 0, firstChunk),
		mostKept: maxListBytes(debug.SetMemoryLimit(-1))} // GOMEMLIMIT
}

// decode decodes the record that begins at b[i] == '{' into dst and returns the position after it.
// After errTruncated the caller may call it again with more bytes.
func (r *recordDecoder[T]) decode(b []byte, i int, dst *T) (int, error) {
	if r.pattern != nil {
		*dst = r.previous
		next, ok, err := r.decodeAlongPattern(b, i+1, dst)
		// Matching changed the pattern and dst consistently, so they stay together even if the
		// record was not complete.
		r.previous = *dst
		if err != nil || ok {
			return next, err
		}
	}
	var zero T
	*dst = zero
	next, err := r.decodeAnyShape(b, i+1, dst)
	if err != nil {
		return 0, err
	}
	r.previous = *dst
	return next, nil
}

// maxKeptBytes is the size up to which a changed value of a skipped member is kept in the pattern.
// Copying longer values costs more than it saves, since they usually differ again.
const maxKeptBytes = 256

// decodeAlongPattern decodes a record by the pattern; ok is false if the record has another shape.
func (r *recordDecoder[T]) decodeAlongPattern(b []byte, i int, dst *T) (next int, ok bool, err error) {
	for k := range r.pattern {
		e := &r.pattern[k]
		rest := b[i:]
		if len(rest) >= len(e.raw) && string(rest[:len(e.raw)]) == string(e.raw) {
			i += len(e.raw)
			continue
		}
		if !bytes.HasPrefix(rest, e.head) {
			if len(rest) < len(e.head) {
				return 0, false, errTruncated
			}
			return 0, false, nil
		}
		m := member{valueStart: i + len(e.head)}
		if err := m.readEnd(b); err != nil {
			return 0, false, err
		}
		if m.last != (k == len(r.pattern)-1) {
			return 0, false, nil
		}
		if err := e.apply(r.intern, e.key, b[m.valueStart:m.valueEnd], dst); err != nil {
			return 0, false, err
		}
		if e.read != nil {
			r.kept += memoryOf(b[m.valueStart:m.valueEnd])
		}
		if e.read != nil || m.next-i <= maxKeptBytes {
			e.raw = append(e.raw[:0], b[i:m.next]...)
		}
		i = m.next
	}
	return i, true, nil
}

// decodeAnyShape decodes a record of any shape and makes it the pattern.
func (r *recordDecoder[T]) decodeAnyShape(b []byte, i int, dst *T) (int, error) {
	pattern := make([]patternEntry[T], 0, len(r.pattern)+8)
	kept := 0
	for {
		m, empty, err := readMember(b, i)
		if err != nil {
			r.pattern = nil
			return 0, err
		}
		if empty {
			r.pattern = nil
			if len(pattern) > 0 {
				return 0, syntaxError("no key follows a comma")
			}
			return m.next, nil
		}
		key := string(m.key)
		f := r.fields[key]
		if err := f.apply(r.intern, key, b[m.valueStart:m.valueEnd], dst); err != nil {
			r.pattern = nil
			return 0, err
		}
		if f.read != nil {
			kept += memoryOf(b[m.valueStart:m.valueEnd])
		}
		pattern = append(pattern, patternEntry[T]{
			head:  bytes.Clone(b[i:m.valueStart]),
			raw:   bytes.Clone(b[i:m.next]),
			key:   key,
			field: f,
		})
		if m.last {
			r.pattern = pattern
			r.kept += kept
			return m.next, nil
		}
		i = m.next
	}
}

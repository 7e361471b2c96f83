package wire

import "bytes"

// field is how one member of a record gets into the noun. The zero field is skipped.
type field[T any] struct {
	read func(in *Interner, value []byte, dst *T)
	// valid tells whether the value is of a type that read understands; nil where
	// another type is as good as none. Only for what the noun cannot leave out: a
	// count that cannot be read is not 0.
	valid func(value []byte) bool
}

func (f field[T]) use(in *Interner, key string, value []byte, dst *T) error {
	if f.read == nil {
		return nil
	}
	if f.valid != nil && !f.valid(value) {
		return syntaxError("%s is %.40q", key, value)
	}
	f.read(in, value, dst)
	return nil
}

// records decodes the records of one list, each against the one before it.
//
// slurmrestd prints every record with the same keys in the same order, and most
// values are those of the record before. So a record starts as a copy of its
// predecessor, and its bytes are compared member by member with the
// predecessor's: equal bytes mean an equal value, and nothing is parsed. Only
// members that differ are, and a record of another shape is read from scratch
// and becomes the new pattern.
//
// The comparison is exact: a member is matched from the white space before its
// key to the comma or brace behind its value, so equal bytes at the same place
// in the grammar cannot mean anything else.
type records[T any] struct {
	fields map[string]field[T]
	intern *Interner
	// named reports whether a record says what it is about.
	named func(*T) bool

	pattern []entry[T]
	prev    T
	// window is where the answer is read into.
	window []byte
}

// entry is one member of the pattern.
type entry[T any] struct {
	head []byte // from the end of the member before up to the value
	raw  []byte // head, the value, and the comma or brace behind it
	key  string
	field[T]
}

func newRecords[T any](fields map[string]field[T], in *Interner, named func(*T) bool) *records[T] {
	return &records[T]{fields: fields, intern: in, named: named, window: make([]byte, 0, firstChunk)}
}

// decode reads the record that begins at b[i] == '{' into dst and returns the
// position behind it. errShort leaves the decoder fit to try again with more.
func (r *records[T]) decode(b []byte, i int, dst *T) (int, error) {
	if r.pattern != nil {
		*dst = r.prev
		next, ok, err := r.match(b, i+1, dst)
		// What matched changed the pattern and dst alike, so they belong together even
		// where the record could not be finished.
		r.prev = *dst
		if err != nil || ok {
			return next, err
		}
	}
	var zero T
	*dst = zero
	next, err := r.scratch(b, i+1, dst)
	if err != nil {
		return 0, err
	}
	r.prev = *dst
	return next, nil
}

// keepUpTo is the size up to which a changed value nobody wants is remembered:
// copying long ones that differ anyway costs more than it saves.
const keepUpTo = 256

// match reads a record along the pattern; ok is false when it has another shape.
func (r *records[T]) match(b []byte, i int, dst *T) (next int, ok bool, err error) {
	for k := range r.pattern {
		e := &r.pattern[k]
		rest := b[i:]
		if len(rest) >= len(e.raw) && string(rest[:len(e.raw)]) == string(e.raw) {
			i += len(e.raw)
			continue
		}
		if !bytes.HasPrefix(rest, e.head) {
			if len(rest) < len(e.head) {
				return 0, false, errShort
			}
			return 0, false, nil
		}
		m := member{valueStart: i + len(e.head)}
		if err := m.finish(b); err != nil {
			return 0, false, err
		}
		if m.last != (k == len(r.pattern)-1) {
			return 0, false, nil
		}
		if err := e.use(r.intern, e.key, b[m.valueStart:m.valueEnd], dst); err != nil {
			return 0, false, err
		}
		if e.read != nil || m.next-i <= keepUpTo {
			e.raw = append(e.raw[:0], b[i:m.next]...)
		}
		i = m.next
	}
	return i, true, nil
}

// scratch reads a record of any shape and makes it the pattern.
func (r *records[T]) scratch(b []byte, i int, dst *T) (int, error) {
	pattern := make([]entry[T], 0, len(r.pattern)+8)
	for {
		m, empty, err := readMember(b, i)
		if err != nil {
			r.pattern = nil
			return 0, err
		}
		if empty {
			r.pattern = nil
			return m.next, nil
		}
		key := string(m.key)
		f := r.fields[key]
		if err := f.use(r.intern, key, b[m.valueStart:m.valueEnd], dst); err != nil {
			r.pattern = nil
			return 0, err
		}
		pattern = append(pattern, entry[T]{
			head:  bytes.Clone(b[i:m.valueStart]),
			raw:   bytes.Clone(b[i:m.next]),
			key:   key,
			field: f,
		})
		if m.last {
			r.pattern = pattern
			return m.next, nil
		}
		i = m.next
	}
}

package template

import (
	"encoding/json"
	"fmt"
)

// Template writes records of one shape. It is safe for concurrent use.
type Template[T any] struct {
	segments []segment[T]
	depth    int
}

// segment is literal text and the value after it; the last segment has no value.
type segment[T any] struct {
	text  string
	depth int
	write writeFunc[T]
}

// Fields maps the path of a place in a record, such as "exit_code.signal.id", to its Field.
type Fields[T any] map[string]Field[T]

// Compile compiles a recorded record into a Template. depth is the number of objects and arrays
// around the record, which decides its indentation. Fields whose path is missing in the record are
// ignored, since versions differ. Places without a field are written as recorded.
func Compile[T any](record []byte, style Style, depth int, fields Fields[T]) (*Template[T], error) {
	v, err := parseDocument(record)
	if err != nil {
		return nil, fmt.Errorf("parsing a recorded record: %w", err)
	}
	c := &compiler[T]{w: &Writer{style: style, depth: depth}, fields: fields}
	if err := c.value("", v); err != nil {
		return nil, err
	}
	c.endSegment(nil)
	return &Template[T]{segments: c.segments, depth: depth}, nil
}

// Append writes t as one value.
func (p *Template[T]) Append(w *Writer, t T) {
	outer := w.depth
	for i := range p.segments {
		part := &p.segments[i]
		w.buf = append(w.buf, part.text...)
		if part.write != nil {
			w.depth = part.depth
			part.write(w, t)
		}
	}
	w.depth, w.empty = outer, false
}

type compiler[T any] struct {
	w        *Writer
	fields   Fields[T]
	segments []segment[T]
}

func (c *compiler[T]) value(path string, v value) error {
	if f, ok := c.fields[path]; ok {
		put, err := f(v)
		if err != nil {
			return fmt.Errorf("compiling %q: %w", path, err)
		}
		c.endSegment(put)
		c.w.empty = false
		return nil
	}
	switch v.kind {
	case objectKind:
		return c.object(path, v)
	case arrayKind:
		return c.array(path, v)
	}
	c.scalar(v)
	return nil
}

func (c *compiler[T]) object(path string, v value) error {
	c.w.Object()
	for _, m := range v.members {
		c.w.Key(m.key)
		if err := c.value(joinPath(path, m.key), m.value); err != nil {
			return err
		}
	}
	c.w.EndObject()
	return nil
}

func (c *compiler[T]) array(path string, v value) error {
	c.w.Array()
	for _, item := range v.items {
		c.w.Item()
		if err := c.value(joinPath(path, "*"), item); err != nil {
			return err
		}
	}
	c.w.EndArray()
	return nil
}

func (c *compiler[T]) scalar(v value) {
	switch s := v.scalar.(type) {
	case string:
		c.w.String(s)
	case json.Number:
		c.w.Literal(s.String())
	case bool:
		c.w.Bool(s)
	default:
		c.w.Null()
	}
}

// endSegment ends a segment; put writes the value after it.
func (c *compiler[T]) endSegment(put writeFunc[T]) {
	c.segments = append(c.segments, segment[T]{text: string(c.w.buf), depth: c.w.depth, write: put})
	c.w.Reset()
}

func joinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

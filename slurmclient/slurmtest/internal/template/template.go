package template

import (
	"encoding/json"
	"fmt"
)

// Template writes records of one shape. It is safe for concurrent use.
type Template[T any] struct {
	parts []part[T]
	depth int
}

// segment is literal text and the value after it; the last segment has no value.
type part[T any] struct {
	text  string
	depth int
	put   put[T]
}

// Fields maps the path of a place in a record, such as "exit_code.signal.id", to its Field.
type Fields[T any] map[string]Field[T]

// Compile compiles a recorded record into a Template. depth is the number of objects and arrays
// around the record, which decides its indentation. Fields whose path is missing in the record are
// ignored, since versions differ. Places without a field are written as recorded.
func Compile[T any](record []byte, style Style, depth int, fields Fields[T]) (*Template[T], error) {
	v, err := parse(record)
	if err != nil {
		return nil, fmt.Errorf("parsing a recorded record: %w", err)
	}
	c := &compiler[T]{w: &Writer{style: style, depth: depth}, fields: fields}
	if err := c.value("", v); err != nil {
		return nil, err
	}
	c.cut(nil)
	return &Template[T]{parts: c.parts, depth: depth}, nil
}

// Append writes t as one value.
func (p *Template[T]) Append(w *Writer, t T) {
	outer := w.depth
	for i := range p.parts {
		part := &p.parts[i]
		w.buf = append(w.buf, part.text...)
		if part.put != nil {
			w.depth = part.depth
			part.put(w, t)
		}
	}
	w.depth, w.empty = outer, false
}

type compiler[T any] struct {
	w      *Writer
	fields Fields[T]
	parts  []part[T]
}

func (c *compiler[T]) value(path string, v value) error {
	if f, ok := c.fields[path]; ok {
		put, err := f(v)
		if err != nil {
			return fmt.Errorf("compiling %q: %w", path, err)
		}
		c.cut(put)
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
		if err := c.value(join(path, m.key), m.value); err != nil {
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
		if err := c.value(join(path, "*"), item); err != nil {
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
func (c *compiler[T]) cut(put put[T]) {
	c.parts = append(c.parts, part[T]{text: string(c.w.buf), depth: c.w.depth, put: put})
	c.w.Reset()
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

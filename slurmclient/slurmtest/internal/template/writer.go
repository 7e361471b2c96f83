package template

import (
	"math"
	"strconv"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Style is the layout of JSON.
type Style uint8

const (
	// Pretty is slurmrestd's default: two spaces per level, one member per line.
	Pretty Style = iota
	// Compact is the layout of SLURMRESTD_JSON=compact: no white space.
	Compact
)

// Writer appends JSON to a buffer, with slurmrestd's layout and escapes. The caller must write
// well-formed JSON; the Writer does not check. A Writer is not safe for concurrent use.
type Writer struct {
	buf   []byte
	style Style
	depth int
	// empty is whether the current object or array has no member yet.
	empty bool
}

// NewWriter returns a Writer of the given style.
func NewWriter(s Style) *Writer { return &Writer{style: s} }

// Bytes returns the text written since the last Reset. It is valid until the next write.
func (w *Writer) Bytes() []byte { return w.buf }

// Len returns the number of bytes written since the last Reset.
func (w *Writer) Len() int { return len(w.buf) }

// Reset drops the bytes written so far and keeps the position in the document.
func (w *Writer) Reset() { w.buf = w.buf[:0] }

// Object opens an object; EndObject closes it.
func (w *Writer) Object() { w.open('{') }

// EndObject closes an object.
func (w *Writer) EndObject() { w.close('}') }

// Array opens an array; EndArray closes it. Call Item before each element.
func (w *Writer) Array() { w.open('[') }

// EndArray closes an array.
func (w *Writer) EndArray() { w.close(']') }

// Key begins a member of an object; its value must follow.
func (w *Writer) Key(name string) {
	w.Item()
	w.String(name)
	if w.style == Pretty {
		w.buf = append(w.buf, ": "...)
	} else {
		w.buf = append(w.buf, ':')
	}
}

// Item begins an element of an array; its value must follow.
func (w *Writer) Item() {
	if !w.empty {
		w.buf = append(w.buf, ',')
	}
	w.empty = false
	w.newline()
}

func (w *Writer) open(c byte) {
	w.buf = append(w.buf, c)
	w.depth++
	w.empty = true
}

func (w *Writer) close(c byte) {
	w.depth--
	if !w.empty {
		w.newline()
	}
	w.empty = false
	w.buf = append(w.buf, c)
}

const spaces = "\n                                                                "

func (w *Writer) newline() {
	if w.style == Pretty {
		w.buf = append(w.buf, spaces[:1+2*w.depth]...)
	}
}

// Literal appends the text unchanged: a value, or a part of one.
func (w *Writer) Literal(text string) { w.buf = append(w.buf, text...) }

// Null writes null.
func (w *Writer) Null() { w.Literal("null") }

// Bool writes true or false.
func (w *Writer) Bool(b bool) { w.buf = strconv.AppendBool(w.buf, b) }

// Int writes a whole number.
func (w *Writer) Int(n int64) { w.buf = strconv.AppendInt(w.buf, n, 10) }

// Uint writes a whole number that is not negative.
func (w *Writer) Uint(n uint64) { w.buf = strconv.AppendUint(w.buf, n, 10) }

// Float writes a number with a fraction, ".0" for whole ones, as json-c does. It writes a bare Infinity, which is not
// JSON, as old slurmrestds do.
func (w *Writer) Float(f float64) {
	if math.IsInf(f, 0) {
		w.Literal("Infinity")
		return
	}
	from := len(w.buf)
	w.buf = strconv.AppendFloat(w.buf, f, 'g', 17, 64)
	for _, c := range w.buf[from:] {
		if c == '.' || c == 'e' {
			return
		}
	}
	w.Literal(".0")
}

// Number writes n as a {"set", "infinite", "number"} object; an absent number is
// written as unset.
func (w *Writer) Number(n slurm.Number) {
	v, ok := n.Value()
	w.valueHead(ok, n.IsInfinite())
	w.Uint(v)
	w.valueTail()
}

// FloatNumber writes f as a {"set", "infinite", "number"} object.
func (w *Writer) FloatNumber(f slurm.Float) {
	v, ok := f.Value()
	w.valueHead(ok, f.IsInfinite())
	w.Float(v)
	w.valueTail()
}

func (w *Writer) valueHead(set, infinite bool) {
	w.open('{')
	w.Key("set")
	w.Bool(set)
	w.Key("infinite")
	w.Bool(infinite)
	w.Key("number")
}

func (w *Writer) valueTail() { w.close('}') }

// Strings writes an array of strings.
func (w *Writer) Strings(list ...string) {
	w.Array()
	for _, s := range list {
		w.Item()
		w.String(s)
	}
	w.EndArray()
}

// Words writes the comma-separated parts of text as an array of strings; an empty text is an empty
// array.
func (w *Writer) Words(text string) {
	w.Array()
	for text != "" {
		i := 0
		for i < len(text) && text[i] != ',' {
			i++
		}
		w.Item()
		w.String(text[:i])
		text = text[min(i+1, len(text)):]
	}
	w.EndArray()
}

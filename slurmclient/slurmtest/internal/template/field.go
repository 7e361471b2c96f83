package template

import (
	"encoding/json"
	"errors"
	"math"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Field compiles the value of one place in a record. The recording decides how the value is
// written, since versions differ: a number is bare in one and an object in another.
type Field[T any] func(recorded value) (writeFunc[T], error)

type writeFunc[T any] func(*Writer, T)

var errShape = errors.New("the recorded value has another type")

// Text writes a string. Where the recording has an array, its elements are the words between the
// commas of the string.
func Text[T any](get func(T) string) Field[T] {
	return func(v value) (writeFunc[T], error) {
		switch {
		case v.kind == arrayKind:
			return func(w *Writer, t T) { w.Words(get(t)) }, nil
		case v.hasTypeOf(""):
			return func(w *Writer, t T) { w.String(get(t)) }, nil
		}
		return nil, errShape
	}
}

// Texts writes an array of strings.
func Texts[T any](get func(T) []string) Field[T] {
	return func(v value) (writeFunc[T], error) {
		if v.kind != arrayKind {
			return nil, errShape
		}
		return func(w *Writer, t T) { w.Strings(get(t)...) }, nil
	}
}

// Flag writes a boolean.
func Flag[T any](get func(T) bool) Field[T] {
	return func(v value) (writeFunc[T], error) {
		if !v.hasTypeOf(true) {
			return nil, errShape
		}
		return func(w *Writer, t T) { w.Bool(get(t)) }, nil
	}
}

// Int writes a bare whole number.
func Int[T any](get func(T) int64) Field[T] {
	return func(v value) (writeFunc[T], error) {
		if !v.hasTypeOf(json.Number("")) {
			return nil, errShape
		}
		return func(w *Writer, t T) { w.Int(get(t)) }, nil
	}
}

// Number writes a whole number that may be unset or infinite. Where the recording is a bare number,
// both are written as 0.
func Number[T any](get func(T) slurm.Number) Field[T] {
	return func(v value) (writeFunc[T], error) {
		switch {
		case v.isNumber():
			return func(w *Writer, t T) { w.Number(get(t)) }, nil
		case v.hasTypeOf(json.Number("")):
			return func(w *Writer, t T) { w.Uint(get(t).Or(0)) }, nil
		}
		return nil, errShape
	}
}

// Time writes a time in seconds since the epoch, 0 if it is not set.
func Time[T any](get func(T) slurm.Time) Field[T] {
	return Number(func(t T) slurm.Number { return slurm.Num(uint64(max(0, get(t)))) })
}

// Count writes a whole number that is always set.
func Count[T any](get func(T) uint64) Field[T] {
	return Number(func(t T) slurm.Number { return slurm.Num(get(t)) })
}

// Float writes a number with a fraction. Where the recording is a bare number, infinity is the word
// Infinity and unset is 0.
func Float[T any](get func(T) slurm.Float) Field[T] {
	return func(v value) (writeFunc[T], error) {
		switch {
		case v.isNumber():
			return func(w *Writer, t T) { w.FloatNumber(get(t)) }, nil
		case v.hasTypeOf(json.Number("")):
			return func(w *Writer, t T) { w.Float(bareFloat(get(t))) }, nil
		}
		return nil, errShape
	}
}

func bareFloat(f slurm.Float) float64 {
	if f.IsInfinite() {
		return math.Inf(1)
	}
	v, _ := f.Value()
	return v
}

// Value writes what the function writes, which must be one whole value.
func Value[T any](write func(*Writer, T)) Field[T] {
	return func(value) (writeFunc[T], error) { return write, nil }
}

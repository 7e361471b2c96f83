package hostlist

import (
	"iter"
	"slices"
)

// Expand returns the names of an expression, in the order of the expression and with repetitions. An
// empty expression has no names. The error is a *SyntaxError or a *LimitError.
func Expand(expr string) ([]string, error) {
	list, err := parseExpression(expr)
	if err != nil {
		return nil, err
	}
	return slices.AppendSeq(make([]string, 0, list.count), list.allNames()), nil
}

// All returns an iterator over the names that Expand would return.
func All(expr string) (iter.Seq[string], error) {
	list, err := parseExpression(expr)
	if err != nil {
		return nil, err
	}
	return list.allNames(), nil
}

// Bytes returns an iterator over the names that Expand would return. Each one is valid until the next one, and must not be
// modified.
func Bytes(expr string) (iter.Seq[[]byte], error) {
	list, err := parseExpression(expr)
	if err != nil {
		return nil, err
	}
	return list.allBytes(), nil
}

// Count returns the number of names that Expand would return, without expanding them.
func Count(expr string) (int, error) {
	list, err := parseExpression(expr)
	return list.count, err
}

func (l expression) allNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range l.allBytes() {
			if !yield(string(name)) {
				return
			}
		}
	}
}

func (l expression) allBytes() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		name := make([]byte, 0, MaxNameLength)
		for _, e := range l.elements {
			if !e.yieldNames(name, yield) {
				return
			}
		}
	}
}

// yieldNames yields every name that begins with name and continues with the element. It reports
// whether the caller wants more names.
func (e element) yieldNames(name []byte, yield func([]byte) bool) bool {
	if len(e) == 0 {
		return yield(name)
	}
	first, rest := e[0], e[1:]
	if first.ranges == nil {
		return rest.yieldNames(append(name, first.text...), yield)
	}
	for _, r := range first.ranges {
		for n := r.low; n <= r.high; n++ {
			if !rest.yieldNames(appendNumber(name, n, r.width), yield) {
				return false
			}
		}
	}
	return true
}

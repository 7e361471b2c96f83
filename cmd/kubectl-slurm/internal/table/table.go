package table

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Unknown is how a value that is not known is printed.
const Unknown = "<unknown>"

// Cell is one value of a row.
type Cell struct {
	text   string
	number float64
	kind   kind
}

type kind uint8

const (
	unknown kind = iota
	text
	number
)

// Text is a cell of words; empty ones are printed as <none>.
func Text(s string) Cell { return Cell{text: s, kind: text} }

// Count is a cell of a number.
func Count[N uint32 | uint64 | int32 | int64 | int](n N) Cell {
	return Cell{text: fmt.Sprint(n), number: float64(n), kind: number}
}

// CountOf is a cell of a number, unknown for nil.
func CountOf[N uint32 | uint64 | int32 | int64 | int](n *N) Cell {
	if n == nil {
		return Cell{}
	}
	return Count(*n)
}

// Number is a cell that is printed as the text and sorted by the number.
func Number(s string, by float64) Cell { return Cell{text: s, number: by, kind: number} }

// None is a cell of a value that is not known.
func None() Cell { return Cell{} }

func (c Cell) String() string {
	switch {
	case c.kind == unknown:
		return Unknown
	case c.text == "":
		return "<none>"
	}
	return c.text
}

// Column is one column of a table of rows of type R.
type Column[R any] struct {
	// Name is the heading, in capitals; sorting takes it in any case.
	Name string
	// Wide columns are shown by -o wide alone.
	Wide bool
	// Most is how many letters are shown, but for -o wide; 0 for all.
	Most int
	// Of is the row's value.
	Of func(r *R) Cell
}

// Table is rows with their columns.
type Table[R any] struct {
	Columns []Column[R]
	Rows    []R
	// Name is what -o name prints of a row.
	Name func(r *R) string
}

// SortError tells that there is no column of the name.
type SortError struct {
	Name    string
	Columns []string
}

func (e *SortError) Error() string {
	return fmt.Sprintf("there is no column %q to sort by; there are %s", e.Name, strings.Join(e.Columns, ", "))
}

// Len is how many rows there are.
func (t *Table[R]) Len() int { return len(t.Rows) }

// Sort orders the rows by a column: words from A to Z, numbers from the largest to the
// smallest, what is not known last; equal ones stay in their order. An empty name
// leaves the rows as they are. The error is a *SortError.
func (t *Table[R]) Sort(by string) error {
	if by == "" {
		return nil
	}
	i := slices.IndexFunc(t.Columns, func(c Column[R]) bool { return strings.EqualFold(c.Name, by) })
	if i < 0 {
		return &SortError{Name: by, Columns: t.names()}
	}
	of := t.Columns[i].Of
	slices.SortStableFunc(t.Rows, func(a, b R) int { return order(of(&a), of(&b)) })
	return nil
}

func (t *Table[R]) names() []string {
	out := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = strings.ToLower(c.Name)
	}
	return out
}

func order(a, b Cell) int {
	return cmp.Or(
		-cmp.Compare(min(a.kind, text), min(b.kind, text)),
		-cmp.Compare(a.number, b.number),
		strings.Compare(a.text, b.text),
	)
}

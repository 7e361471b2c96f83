package table

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Unknown is printed for unknown values.
const Unknown = "<unknown>"

// Cell is one value of a row. The zero Cell is unknown.
type Cell struct {
	text   string
	number float64
	kind   kind
}

type kind uint8

const (
	unknownKind kind = iota
	textKind
	numberKind
	blankKind
)

// Text returns a cell with text. Empty text is printed as <none>.
func Text(s string) Cell { return Cell{text: s, kind: textKind} }

// Blank returns a cell for a missing text that is printed as the given one, which may be empty.
func Blank(s string) Cell { return Cell{text: s, kind: blankKind} }

// Count returns a cell with a number.
func Count[N uint32 | uint64 | int32 | int64 | int](n N) Cell {
	return Cell{text: fmt.Sprint(n), number: float64(n), kind: numberKind}
}

// CountOf returns a cell with a number, or an unknown cell for nil.
func CountOf[N uint32 | uint64 | int32 | int64 | int](n *N) Cell {
	if n == nil {
		return Cell{}
	}
	return Count(*n)
}

// Number returns a cell that prints the text and sorts by the number.
func Number(s string, by float64) Cell { return Cell{text: s, number: by, kind: numberKind} }

// UnknownCell returns the cell of an unknown value.
func UnknownCell() Cell { return Cell{} }

func (c Cell) String() string {
	switch {
	case c.kind == unknownKind:
		return Unknown
	case c.text == "" && c.kind != blankKind:
		return "<none>"
	}
	return c.text
}

// Column is one column of a table of rows of type R.
type Column[R any] struct {
	// Name is the heading in capitals. Sorting ignores case.
	Name string
	// Wide columns are shown only with -o wide.
	Wide bool
	// MaxLetters truncates the values except with -o wide. 0 means no limit.
	MaxLetters int
	// Width gives the column a fixed width in letters, as the commands of Slurm do. If the columns have one, the table is
	// printed like Slurm's. Values that are longer are cut, unless the column is Whole.
	Width int
	Whole bool
	// Align is the side of a column with a Width to which the values are aligned.
	Align Align
	// Value returns the value of a row.
	Value func(r *R) Cell
}

// Align is a side of a column.
type Align string

// The sides of a column. The zero Align is Left.
const (
	Left  Align = ""
	Right Align = "right"
)

// Table contains columns and rows.
type Table[R any] struct {
	Columns []Column[R]
	Rows    []R
	// Name returns the name of a row for -o name.
	Name func(r *R) string
}

// SortError reports an unknown column.
type SortError struct {
	Name    string
	Columns []string
}

func (e *SortError) Error() string {
	return fmt.Sprintf("unknown column %q; the columns are %s", e.Name, strings.Join(e.Columns, ", "))
}

// Len returns the number of rows.
func (t *Table[R]) Len() int { return len(t.Rows) }

// Sort sorts the rows by a column: text in ascending order, numbers in descending order, unknown
// values last. The sort is stable. An empty name does not sort. The error is a *SortError.
func (t *Table[R]) Sort(by string) error {
	if by == "" {
		return nil
	}
	i := slices.IndexFunc(t.Columns, func(c Column[R]) bool { return strings.EqualFold(c.Name, by) })
	if i < 0 {
		return &SortError{Name: by, Columns: t.names()}
	}
	of := t.Columns[i].Value
	slices.SortStableFunc(t.Rows, func(a, b R) int { return compareCells(of(&a), of(&b)) })
	return nil
}

func (t *Table[R]) names() []string {
	out := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = strings.ToLower(c.Name)
	}
	return out
}

func compareCells(a, b Cell) int {
	return cmp.Or(
		-cmp.Compare(min(a.kind, textKind), min(b.kind, textKind)),
		-cmp.Compare(a.number, b.number),
		strings.Compare(a.text, b.text),
	)
}

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
	// Color returns the color of a row's value; nil for none.
	Color func(r *R) Color
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
	// Screen is the terminal to which the table is printed.
	Screen Screen
}

// Screen is a terminal. The zero Screen stands for an output that is no terminal.
type Screen struct {
	// Columns is the width, 0 for an output without one.
	Columns int
	// Color is whether values are colored.
	Color bool
}

// Color is the color of a value on a terminal.
type Color string

// The colors, as the control sequences that switch them on.
const (
	NoColor Color = ""
	Red     Color = "\x1b[31m"
	Green   Color = "\x1b[32m"
	Yellow  Color = "\x1b[33m"
)

// colorOff ends a color.
const colorOff = "\x1b[0m"

// SortError reports an unknown column.
type SortError struct {
	Name    string
	Columns []string
}

func (e *SortError) Error() string {
	return fmt.Sprintf("unknown column %q; the columns are %s", e.Name, strings.Join(e.Columns, ", "))
}

// SetScreen sets the terminal to which the table is printed.
func (t *Table[R]) SetScreen(s Screen) { t.Screen = s }

// Len returns the number of rows.
func (t *Table[R]) Len() int { return len(t.Rows) }

// Sort sorts the rows by a column: text in ascending order, numbers in descending order, unknown values last. A minus sign
// before the column reverses the order of the known values. A prefix of its name is enough if it is the prefix of only one
// column. The sort is stable. An empty name does not sort. The error is a *SortError.
func (t *Table[R]) Sort(by string) error {
	name, reversed := strings.CutPrefix(by, "-")
	if by == "" {
		return nil
	}
	i := t.find(name)
	if i < 0 {
		return &SortError{Name: by, Columns: t.ColumnNames()}
	}
	of := t.Columns[i].Value
	slices.SortStableFunc(t.Rows, func(a, b R) int { return compareCells(of(&a), of(&b), reversed) })
	return nil
}

// find returns the index of the column with a name, or with the only name that begins so. It is -1 for none.
func (t *Table[R]) find(name string) int {
	found := -1
	for i, c := range t.Columns {
		switch {
		case strings.EqualFold(c.Name, name):
			return i
		case name == "" || len(c.Name) < len(name) || !strings.EqualFold(c.Name[:len(name)], name):
		case found == -1:
			found = i
		default:
			found = ambiguous
		}
	}
	return found
}

// ambiguous is the result of find for the prefix of several columns.
const ambiguous = -2

// ColumnNames returns the names of the columns in lower case.
func (t *Table[R]) ColumnNames() []string {
	out := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = strings.ToLower(c.Name)
	}
	return out
}

func compareCells(a, b Cell, reversed bool) int {
	known := -cmp.Compare(min(a.kind, textKind), min(b.kind, textKind))
	order := cmp.Or(-cmp.Compare(a.number, b.number), strings.Compare(a.text, b.text))
	if reversed {
		order = -order
	}
	return cmp.Or(known, order)
}

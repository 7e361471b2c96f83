package info

import (
	"strings"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
)

// Table returns the table of sinfo in a style.
func Table(style Style, rows []Row) *table.Table[Row] {
	t := &table.Table[Row]{Rows: rows, Name: func(r *Row) string { return r.NodeList }}
	partition := widest("PARTITION", func(r *Row) string { return r.Partition }, rows)
	list := whole("NODELIST", func(r *Row) string { return r.NodeList })
	if style == Reasons {
		t.Columns = []table.Column[Row]{
			fixed("REASON", 20, table.Left, func(r *Row) string { return r.Reason }),
			fixed("USER", 9, table.Left, func(r *Row) string { return r.User }),
			fixed("TIMESTAMP", 19, table.Left, func(r *Row) string { return r.Time }), list,
		}
		return t
	}
	if style == ByNode {
		name := widest("NODELIST", func(r *Row) string { return r.NodeList }, rows)
		partition.Align = table.Right
		t.Columns = []table.Column[Row]{name, fixed("NODES", 6, table.Right, func(r *Row) string { return r.Nodes }),
			partition, stateColumn(table.Left)}
		return t
	}
	t.Columns = []table.Column[Row]{partition,
		fixed("AVAIL", 5, table.Right, func(r *Row) string { return r.Availability }),
		fixed("TIMELIMIT", 10, table.Right, func(r *Row) string { return r.TimeLimit })}
	if style == Summary {
		t.Columns = append(t.Columns, fixed("NODES(A/I/O/T)", 16, table.Right, func(r *Row) string { return r.Usage }), list)
		return t
	}
	t.Columns = append(t.Columns, fixed("NODES", 6, table.Right, func(r *Row) string { return r.Nodes }),
		stateColumn(table.Right), list)
	return t
}

func fixed(name string, width int, align table.Align, of func(r *Row) string) table.Column[Row] {
	return table.Column[Row]{Name: name, Width: width, Align: align, Value: func(r *Row) table.Cell {
		if text := of(r); text != "" {
			return table.Text(text)
		}
		return table.Blank("")
	}}
}

// stateColumn returns the column of states, with a color for each kind of them.
func stateColumn(align table.Align) table.Column[Row] {
	c := fixed("STATE", 6, align, func(r *Row) string { return r.State })
	c.Color = func(r *Row) table.Color {
		switch word := strings.TrimRight(r.State, "*~#%!$@^-+"); word {
		case "idle", "alloc", "mix":
			return table.Green
		case "down", "drain", "fail", "inval", "error", "unk":
			return table.Red
		}
		return table.Yellow
	}
	return c
}

// whole returns a column whose values are never cut.
func whole(name string, of func(r *Row) string) table.Column[Row] {
	c := fixed(name, 1, table.Left, of)
	c.Whole = true
	return c
}

// minWidest is the least width of a column that is as wide as its longest value.
const minWidest = 9

// widest returns a column that is as wide as its longest value.
func widest(name string, of func(r *Row) string, rows []Row) table.Column[Row] {
	width := minWidest
	for i := range rows {
		width = max(width, len([]rune(of(&rows[i]))))
	}
	return fixed(name, width, table.Left, of)
}

package queue

import "github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"

// Table returns the table of squeue, or of squeue --start if the order is ByStart.
func Table(order Order, rows []Row) *table.Table[Row] {
	t := &table.Table[Row]{Rows: rows, Name: func(r *Row) string { return "slurmjob.view.slinky.slurm.net/" + r.Object }}
	t.Columns = []table.Column[Row]{
		fixed("JOBID", 18, table.Right, func(r *Row) string { return r.JobID }),
		fixed("PARTITION", 9, table.Right, func(r *Row) string { return r.Partition }),
		fixed("NAME", 8, table.Right, func(r *Row) string { return r.Name }),
		fixed("USER", 8, table.Right, func(r *Row) string { return r.User }),
		fixed("ST", 2, table.Right, func(r *Row) string { return r.State }),
	}
	t.Columns[len(t.Columns)-1].Color = stateColor
	if order == ByStart {
		t.Columns = append(t.Columns, fixed("START_TIME", 19, table.Right, func(r *Row) string { return r.StartTime }))
	} else {
		t.Columns = append(t.Columns, fixed("TIME", 10, table.Right, func(r *Row) string { return r.Time }))
	}
	t.Columns = append(t.Columns, table.Column[Row]{Name: "NODES", Width: 6, Align: table.Right,
		Value: func(r *Row) table.Cell { return plain(r.Nodes, "N/A") }})
	if order == ByStart {
		t.Columns = append(t.Columns, table.Column[Row]{Name: "SCHEDNODES", Width: 20, Whole: true,
			Value: func(r *Row) table.Cell { return plain(r.Scheduled, "(null)") }})
	}
	t.Columns = append(t.Columns, table.Column[Row]{Name: "NODELIST(REASON)", Whole: true, Width: 1,
		Value: func(r *Row) table.Cell { return plain(r.Where, "") }})
	return t
}

func fixed(name string, width int, align table.Align, of func(r *Row) string) table.Column[Row] {
	return table.Column[Row]{Name: name, Width: width, Align: align,
		Value: func(r *Row) table.Cell { return plain(of(r), "") }}
}

// stateColor returns the color of a row's state.
func stateColor(r *Row) table.Color {
	switch r.State {
	case "R", "CD":
		return table.Green
	case "F", "TO", "NF", "OOM", "BF", "DL", "CA":
		return table.Red
	}
	return table.Yellow
}

// plain returns a cell with the text, or with the word that Slurm prints for none.
func plain(text, none string) table.Cell {
	if text == "" {
		return table.Blank(none)
	}
	return table.Text(text)
}

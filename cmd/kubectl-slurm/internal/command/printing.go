package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
)

// printer is a table of any rows.
type printer interface {
	Len() int
	Sort(by string) error
	Print(w io.Writer, f table.Format, h table.Headings) error
}

// kindOfRow is what the rows of a table are: partitions, each of which is a partition.
type kindOfRow struct{ many, one string }

// printing is how a table is printed.
type printing struct {
	of       kindOfRow
	format   table.Format
	headings table.Headings
	sortBy   string
}

// print writes a table, and returns what to say when there is nothing in it. That there
// is no row of one of the names is an error; the others are printed.
func (p printing) print(w io.Writer, a *asked, t printer) ([]string, error) {
	if err := t.Sort(p.sortBy); err != nil {
		return nil, err
	}
	if err := t.Print(w, p.format, p.headings); err != nil {
		return nil, err
	}
	if missing := a.missing(); len(missing) > 0 {
		return nil, fmt.Errorf("there is no %s %s in %s", p.of.one, strings.Join(missing, ", "), a.place())
	}
	if t.Len() == 0 && p.format != table.JSON && p.format != table.YAML {
		return []string{p.of.nothing(a)}, nil
	}
	return nil, nil
}

// nothing tells that there are no rows, and which flag may show some.
func (k kindOfRow) nothing(a *asked) string {
	text := fmt.Sprintf("no %s were found in %s", k.many, a.place())
	if a.which == top.Present && k.one == "job" {
		text += "; --all shows those that have ended too"
	}
	return text
}

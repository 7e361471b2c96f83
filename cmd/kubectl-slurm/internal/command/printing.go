package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
)

// rowTable is a table with rows of any type.
type printer interface {
	Len() int
	Sort(by string) error
	Print(w io.Writer, f table.Format, h table.Headings) error
}

// rowNoun is the noun for the rows of a table, in plural and singular.
type kindOfRow struct{ many, one string }

// tablePrinter prints tables in one format.
type printing struct {
	of       kindOfRow
	format   table.Format
	headings table.Headings
	sortBy   string
}

// print writes a table and returns notes about an empty one. It prints the matching rows before it
// returns an error about names without a row.
func (p printing) print(w io.Writer, a *asked, t printer) ([]string, error) {
	if err := t.Sort(p.sortBy); err != nil {
		return nil, err
	}
	if err := t.Print(w, p.format, p.headings); err != nil {
		return nil, err
	}
	if missing := a.missing(); len(missing) > 0 {
		return nil, fmt.Errorf("%s %s not found in %s", p.of.one, strings.Join(missing, ", "), a.place())
	}
	if t.Len() == 0 && p.format != table.JSON && p.format != table.YAML {
		return []string{p.of.nothing(a)}, nil
	}
	return nil, nil
}

// noRowsFound says that no rows were found, and which flag may show more.
func (k kindOfRow) nothing(a *asked) string {
	text := fmt.Sprintf("no %s were found in %s", k.many, a.place())
	if a.which == top.Present && k.one == "job" {
		text += "; --all also shows finished jobs"
	}
	return text
}

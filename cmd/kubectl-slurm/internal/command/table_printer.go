package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
)

// rowTable is a table with rows of any type.
type rowTable interface {
	Len() int
	Sort(by string) error
	SetScreen(s table.Screen)
	Print(w io.Writer, f table.Format, h table.Headings) error
}

// rowNoun is the noun for the rows of a table, in plural and singular. finished is the flag that also shows finished rows.
type rowNoun struct{ plural, singular, finished string }

// tablePrinter prints tables in one format.
type tablePrinter struct {
	rows     rowNoun
	format   table.Format
	headings table.Headings
	sortBy   string
	screen   table.Screen
}

// print writes a table and returns notes about an empty one. It prints the matching rows before it
// returns an error about names without a row.
func (p tablePrinter) print(w io.Writer, a *tableRequest, t rowTable) ([]string, error) {
	if err := t.Sort(p.sortBy); err != nil {
		return nil, err
	}
	t.SetScreen(p.screen)
	if err := t.Print(w, p.format, p.headings); err != nil {
		return nil, err
	}
	if missing := a.unmatchedNames(); len(missing) > 0 {
		return nil, fmt.Errorf("%s %s not found in %s", p.rows.singular, strings.Join(missing, ", "), a.placeName())
	}
	if t.Len() == 0 && p.format.IsTable() {
		return []string{p.rows.noRowsFound(a)}, nil
	}
	return nil, nil
}

// noRowsFound says that no rows were found, and which flag may show more.
func (k rowNoun) noRowsFound(a *tableRequest) string {
	text := fmt.Sprintf("no %s were found in %s", k.plural, a.placeName())
	if a.filter == top.Present && k.finished != "" {
		text += "; " + k.finished + " also shows finished " + k.plural
	}
	return text
}

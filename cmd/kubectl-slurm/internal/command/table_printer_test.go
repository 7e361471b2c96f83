package command

import (
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
)

func TestPrintTables(t *testing.T) {
	type row struct{ name string }
	jobs := rowNoun{plural: "jobs", singular: "job", finished: "--all"}
	hpc := observe.Scope{Namespace: "hpc"}
	for _, tc := range []struct {
		name   string
		of     rowNoun
		asked  tableRequest
		rows   []string
		format table.Format
		out    string
		note   string
		err    string
	}{
		{"some rows", jobs, tableRequest{scope: hpc}, []string{"a"}, table.Plain, "NAME\na\n", "", ""},
		{"no rows", rowNoun{plural: "nodes", singular: "node"}, tableRequest{scope: hpc}, nil, table.Plain, "",
			"no nodes were found in namespace hpc", ""},
		{"in any namespace", rowNoun{plural: "users", singular: "user"}, tableRequest{namespaces: top.ManyNamespaces}, nil, table.Names,
			"",
			"no users were found in any namespace", ""},
		{"of a cluster", rowNoun{plural: "users", singular: "user"}, tableRequest{scope: hpc, cluster: "alpha"}, nil, table.Plain, "",
			"no users were found in namespace hpc", ""},
		{"unfinished jobs", jobs, tableRequest{scope: hpc, filter: top.Present}, nil, table.Plain, "",
			"no jobs were found in namespace hpc; --all also shows finished jobs", ""},
		{"all jobs", jobs, tableRequest{scope: hpc, filter: top.All}, nil, table.Plain, "",
			"no jobs were found in namespace hpc", ""},
		{"an empty list in JSON", jobs, tableRequest{scope: hpc}, nil, table.JSON,
			"{\n    \"kind\": \"List\",\n    \"items\": []\n}\n", "", ""},
		{"one of two names", jobs, tableRequest{scope: hpc, names: []string{"a", "b"}}, []string{"a", "c"}, table.Names,
			"a\n", "", "job b not found in namespace hpc"},
		{"no such column", jobs, tableRequest{scope: hpc}, nil, table.Plain, "", "", `unknown column "height"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := tc.asked.startedAt(time.Time{})
			of := table.Table[row]{
				Columns: []table.Column[row]{{Name: "NAME",
					Value: func(r *row) table.Cell { return table.Text(r.name) }}},
				Name: func(r *row) string { return r.name },
			}
			for _, name := range tc.rows {
				if a.matches(name) {
					of.Rows = append(of.Rows, row{name})
				}
			}
			p := tablePrinter{rows: tc.of, format: tc.format, headings: table.WithHeadings}
			if strings.Contains(tc.err, "height") {
				p.sortBy = "height"
			}
			var out strings.Builder
			notes, err := p.print(&out, &a, &of)
			if got := strings.Join(notes, "; "); got != tc.note || out.String() != tc.out {
				t.Errorf("it prints %q and notes %q, want %q and %q", out.String(), got, tc.out, tc.note)
			}
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("the error is %v, want %q", err, tc.err)
			}
		})
	}
}

func TestARowMatchesByAnyOfItsNames(t *testing.T) {
	a := tableRequest{names: []string{"7", "train"}}.startedAt(time.Time{})
	if !a.matches("7", "alpha.7", "train") || a.matches("8", "alpha.8", "solve") {
		t.Error("the wrong rows match")
	}
	if got := a.unmatchedNames(); len(got) != 0 {
		t.Errorf("%q are missing", got)
	}
}

package command

import (
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
)

func TestWhatIsSaidOfATableWithoutRows(t *testing.T) {
	type row struct{ name string }
	jobs := kindOfRow{"jobs", "job"}
	hpc := observe.Scope{Namespace: "hpc"}
	for _, tc := range []struct {
		name   string
		of     kindOfRow
		asked  asked
		rows   []string
		format table.Format
		out    string
		note   string
		err    string
	}{
		{"some rows", jobs, asked{scope: hpc}, []string{"a"}, table.Plain, "NAME\na\n", "", ""},
		{"no rows", kindOfRow{"nodes", "node"}, asked{scope: hpc}, nil, table.Plain, "",
			"no nodes were found in namespace hpc", ""},
		{"in any namespace", kindOfRow{"users", "user"}, asked{placed: top.ManyNamespaces}, nil, table.Names, "",
			"no users were found in any namespace", ""},
		{"of a cluster", kindOfRow{"users", "user"}, asked{scope: hpc, cluster: "alpha"}, nil, table.Plain, "",
			"no users were found in namespace hpc", ""},
		{"unfinished jobs", jobs, asked{scope: hpc, which: top.Present}, nil, table.Plain, "",
			"no jobs were found in namespace hpc; --all also shows finished jobs", ""},
		{"all jobs", jobs, asked{scope: hpc, which: top.All}, nil, table.Plain, "",
			"no jobs were found in namespace hpc", ""},
		{"an empty list in JSON", jobs, asked{scope: hpc}, nil, table.JSON,
			"{\n    \"kind\": \"List\",\n    \"items\": []\n}\n", "", ""},
		{"one of two names", jobs, asked{scope: hpc, names: []string{"a", "b"}}, []string{"a", "c"}, table.Names,
			"a\n", "", "job b not found in namespace hpc"},
		{"no such column", jobs, asked{scope: hpc}, nil, table.Plain, "", "", `unknown column "height"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := tc.asked.at(time.Time{})
			of := table.Table[row]{
				Columns: []table.Column[row]{{Name: "NAME", Of: func(r *row) table.Cell { return table.Text(r.name) }}},
				Name:    func(r *row) string { return r.name },
			}
			for _, name := range tc.rows {
				if a.named(name) {
					of.Rows = append(of.Rows, row{name})
				}
			}
			p := printing{of: tc.of, format: tc.format, headings: table.WithHeadings}
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

func TestOneOfSeveralNamesIsEnough(t *testing.T) {
	a := asked{names: []string{"7", "train"}}.at(time.Time{})
	if !a.named("7", "alpha.7", "train") || a.named("8", "alpha.8", "solve") {
		t.Error("the wrong rows match")
	}
	if got := a.missing(); len(got) != 0 {
		t.Errorf("%q are missing", got)
	}
}

package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
)

// Write writes the report as text for people.
func (r *Report) Write(w io.Writer) error {
	var out strings.Builder
	line := func(format string, args ...any) {
		out.WriteString(strings.TrimRight(table.Clean(fmt.Sprintf(format, args...)), " ") + "\n")
	}
	for _, f := range r.Findings {
		line("%s: %s", f.Code, f.Object)
		line("  problem: %s", f.Problem)
		line("  cure:    %s", f.Cure)
		if f.Command != "" {
			line("           %s", f.Command)
		}
		line("")
	}
	for _, text := range r.NotChecked {
		line("not checked: %s", text)
	}
	switch n := len(r.Findings); {
	case n == 0 && len(r.NotChecked) > 0:
		line("No faults were found in what could be checked.")
	case n == 0:
		line("No faults were found.")
	default:
		line("%s %s found.", countNoun(n, "fault"), wasOrWere(n))
	}
	if r.Ignored > 0 {
		line("%d more ignored.", r.Ignored)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func wasOrWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

package explain

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// textPage collects lines of text. It replaces control characters.
type textPage struct{ strings.Builder }

func (p *textPage) line(format string, args ...any) {
	p.WriteString(table.Clean(fmt.Sprintf(format, args...)) + "\n")
}

// list writes a heading and one line per item. It writes nothing if there are no items.
func (p *textPage) list(heading string, items []string) {
	if len(items) == 0 {
		return
	}
	p.line("")
	p.line("%s", heading)
	for _, item := range items {
		p.line("  - %s", item)
	}
}

// rows writes a heading and lines in columns.
func (p *textPage) rows(heading string, rows [][]string) {
	p.line("")
	p.line("%s", heading)
	tabs := tabwriter.NewWriter(&p.Builder, 2, 4, 3, ' ', 0)
	for _, row := range rows {
		for i := range row {
			row[i] = table.Clean(row[i])
		}
		_, _ = fmt.Fprintln(tabs, "  "+strings.Join(row, "\t"))
	}
	_ = tabs.Flush() // a strings.Builder never fails
}

func (p *textPage) writeTo(w io.Writer) error {
	var out strings.Builder
	for line := range strings.Lines(p.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// formatNumber formats a number that may be unknown.
func formatNumber[N uint64 | int32](n *N) string {
	if n == nil {
		return table.Unknown
	}
	return fmt.Sprint(*n)
}

// Write writes the explanation as text for people.
func (e *NodeSet) Write(w io.Writer) error {
	var p textPage
	p.line("NodeSet %s/%s of Slurm cluster %s: %s required, %d desired, %d present, %d ready",
		e.Namespace, e.Name, e.Cluster, countNoun(e.Need.Required, "worker"), e.Wanted, e.Present, e.Ready)
	p.rows("Required workers", e.Need.rows())
	if len(e.Waiting) > 0 {
		p.rows("Pending jobs in its partitions", waitingRows(e.Waiting))
	}
	if len(e.Unsatisfiable) > 0 {
		p.rows("Jobs that no worker could run", unsatisfiableRows(e.Unsatisfiable))
	}
	if a := e.Autoscaler; a != nil {
		p.rows(fmt.Sprintf("HPA %s: minimum %d, maximum %d, current %d, desired %d", a.Name, a.Min, a.Max, a.Current,
			a.Desired), a.rows())
	}
	p.list("Blocked by", e.Blocks)
	if len(e.ScaleIn.Going) > 0 {
		p.rows("Workers chosen for deletion", candidateRows(e.ScaleIn.Going))
	}
	if len(e.ScaleIn.Next) > 0 {
		p.rows("Next candidates of a scale-in, "+e.ScaleIn.Order, candidateRows(e.ScaleIn.Next))
	}
	p.list("Unknown", e.Gaps)
	return p.writeTo(w)
}

// countNoun returns a number and its noun.
func countNoun[N uint64 | int32](n *N, thing string) string {
	if n == nil || *n != 1 {
		thing += "s"
	}
	return formatNumber(n) + " " + thing
}

func (e *Need) rows() [][]string {
	out := [][]string{
		{"busy", formatNumber(e.Busy), "workers with work"},
		{"+ idle, claimed", formatNumber(e.IdleClaimed), "idle workers that pending jobs will use, of " + formatNumber(
			e.Idle)},
		{"  or idle, in grace", formatNumber(e.Grace),
			"idle workers within the idle grace; the larger of the two counts"},
		{"+ booting, claimed", formatNumber(e.BootingClaimed),
			"starting workers that pending jobs will use, of " + formatNumber(e.Booting)},
		{"+ pending", formatNumber(e.Pending), "new workers that pending jobs need"},
		{"+ replacements", formatNumber(e.Replacements), "replacements of unusable workers, of " + formatNumber(
			e.Unusable)},
	}
	if e.Least > 0 {
		out = append(out, []string{"at least", fmt.Sprint(e.Least), "until a worker has registered: without a record, Slurm accepts no job"})
	}
	out = append(out, [][]string{
		{"minimum", formatBound(e.Min), "of its HPA"},
		{"maximum", formatBound(e.Max), "of the NodeSet and its HPA"},
		{"= required", formatNumber(e.Required), "workers that should run now"},
	}...)
	if n := e.UnsatisfiableJobs; n != nil && *n > 0 {
		out = append(out, []string{"unsatisfiable", formatNumber(n),
			"jobs that create no demand because no worker could run them"})
	}
	alignRight(out, 1)
	return out
}

// alignRight pads the numbers of a column on the left.
func alignRight(rows [][]string, column int) {
	width := 0
	for _, row := range rows {
		width = max(width, len(row[column]))
	}
	for _, row := range rows {
		row[column] = strings.Repeat(" ", width-len(row[column])) + row[column]
	}
}

func formatBound(n *int32) string {
	if n == nil {
		return "<none>"
	}
	return fmt.Sprint(*n)
}

func waitingRows(waiting []Waiting) [][]string {
	out := [][]string{{"CLASS", "JOBS", "WAIT BECAUSE"}}
	for _, v := range waiting {
		out = append(out, []string{string(v.Class), fmt.Sprint(v.Jobs), v.Meaning})
	}
	return out
}

func unsatisfiableRows(list []demand.Unsatisfiable) [][]string {
	out := [][]string{{"JOBS", "SUCH AS", "BECAUSE"}}
	for _, u := range list {
		out = append(out, []string{fmt.Sprint(u.Jobs), fmt.Sprint(u.JobID), u.Reason})
	}
	return out
}

func (a *Autoscaler) rows() [][]string {
	out := [][]string{{"CONDITION", "STATUS", "REASON", "MESSAGE"}}
	for _, c := range a.Conditions {
		out = append(out, []string{c.Type, c.Status, c.Reason, c.Message})
	}
	return out
}

func candidateRows(list []Candidate) [][]string {
	out := [][]string{{"WORKER", "SLURM NODE", "STATE", "JOBS", "LAST JOB", "UNTIL", "DELETED"}}
	for _, c := range list {
		job, until, why := "", "", c.Why
		if c.Job != 0 {
			job = fmt.Sprint(c.Job)
		}
		if c.Until != nil {
			until = c.Until.UTC().Format(time.RFC3339)
		}
		if c.Cause != "" {
			why = fmt.Sprintf("(%s) %s", c.Cause, c.Why)
		}
		out = append(out, []string{c.Pod, c.SlurmNode, c.State, fmt.Sprint(c.Jobs), job, until, why})
	}
	return out
}

// Write writes the explanation as text for people.
func (e *Job) Write(w io.Writer) error {
	var p textPage
	partitions := "partition "
	if len(e.Partitions) > 1 {
		partitions = "partitions "
	}
	p.line("Job %s (%s) of user %s in Slurm cluster %s/%s: %s in %s", e.ID, e.Name, e.User, e.Namespace, e.Cluster,
		e.State, partitions+strings.Join(e.Partitions, ","))
	p.line("  requests %s", e.Asks)
	if e.Reason != "" {
		p.line("  Slurm's reason: %s", e.Reason)
	}
	if e.Class != "" {
		p.line("  it waits because %s (%s)", e.Meaning, e.Class)
	}
	for _, d := range e.Details {
		p.line("  %s", d)
	}
	if e.Help != HelpNotNeeded {
		p.line("")
		p.line("Would more workers help? %s", e.Help.sentence())
	}
	if len(e.Serving) > 0 {
		p.rows("NodeSets of the cluster", servingRows(e.Serving))
	}
	p.list("Unknown", e.Gaps)
	return p.writeTo(w)
}

func (h Help) sentence() string {
	switch h {
	case HelpYes:
		return "Yes: the job waits only for them."
	case HelpLater:
		return "Not now: the job has another reason to wait."
	}
	return "No."
}

func servingRows(list []Serving) [][]string {
	out := [][]string{{"NODESET", "COULD RUN IT", "DESIRED", "REQUIRED WITHOUT IT", "REQUIRED WITH IT"}}
	for _, v := range list {
		could := "yes"
		if !v.Could {
			could = strings.TrimSuffix("no: "+v.Why, ": ")
		}
		out = append(out, []string{v.NodeSet, could, fmt.Sprint(v.Wanted), fmt.Sprint(v.Without), fmt.Sprint(v.With)})
	}
	return out
}

// orEmpty returns a list that is not nil, which JSON has as [] and not as null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

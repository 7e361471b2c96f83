package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/burst"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/play"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
)

// Widths of the columns before and behind the timeline.
const (
	labelWidth = 16
	valueWidth = 8
)

// renderPlay renders the jobs above a common timeline. If the terminal is too low, it omits the
// jobs first and then the blank lines.
func renderPlay(v play.View, size Size, p painter) []string {
	jobs, chart := jobLines(v.Outcomes, size.Width, p), chartLines(v.Timeline, size.Width, p)
	lines := append(append(jobs, ""), chart...)
	if len(lines) > size.Height {
		lines = chart
	}
	if len(lines) > size.Height {
		lines = withoutBlanks(lines)
	}
	if v.Err != nil && len(lines) < size.Height {
		lines = append(lines, p(yellow, "  not everything can be read: "+strings.ReplaceAll(v.Err.Error(), "\n", "; ")))
	}
	return lines
}

func withoutBlanks(lines []string) []string {
	var out []string
	for _, line := range lines {
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

// jobLines returns one line per job template.
func jobLines(outcomes []burst.Outcome, width int, p painter) []string {
	var lines []string
	for _, o := range outcomes {
		sign, style, text := progressOf(o)
		lines = append(lines, p(style, "  "+sign+" ")+padText(o.Title, 20)+jobDots(o, p)+"  "+p(style,
			padText(text, 30))+"  "+p(dim, padText(o.String(), width-69)))
	}
	return lines
}

// jobDots returns one sign per job.
func jobDots(o burst.Outcome, p painter) string {
	const room = 9
	if o.NeverFits {
		return padText("", room)
	}
	waits := o.Tasks - o.Done - o.Failed - o.Running
	if o.Tasks > room {
		return padText(fmt.Sprintf("%d/%d", o.Done, o.Tasks), room)
	}
	return p(green, strings.Repeat("●", o.Done)) + p(red, strings.Repeat("✗", o.Failed)) +
		p(blue, strings.Repeat("◐", o.Running)) +
		p(dim, strings.Repeat("○", max(waits, 0))) + strings.Repeat(" ", room-o.Tasks)
}

func progressOf(o burst.Outcome) (sign, style, text string) {
	switch {
	case o.Refusal != "":
		return "✗", yellow, "refused by Slurm"
	case o.ID == 0:
		return "·", dim, ""
	case o.NeverFits && o.Cancelled:
		return "✓", dim, "reported and cancelled"
	case o.NeverFits:
		return "!", yellow, "never fits: " + o.Reason
	case o.Failed > 0:
		return "✗", red, o.Failure
	case o.Finished():
		return "✓", green, "done"
	case o.Running > 0:
		return "◐", blue, fmt.Sprintf("%d running", o.Running)
	}
	return "○", yellow, "pending: " + o.Reason
}

// chartLines renders the timeline.
func chartLines(line timeline.Timeline, width int, p painter) []string {
	c := newColumns(line, width-labelWidth-valueWidth)
	last := line.Last()
	most := max(last.Jobs, 1)
	lines := []string{
		c.row("jobs pending", magenta, most, last.Pending.String(),
			func(s timeline.Sample) timeline.Reading { return s.Pending }, p),
		c.row("jobs running", blue, most, last.Running.String(),
			func(s timeline.Sample) timeline.Reading { return s.Running }, p),
	}
	for i, set := range last.Sets {
		of := func(s timeline.Sample) timeline.Set {
			if i < len(s.Sets) {
				return s.Sets[i]
			}
			return timeline.Set{}
		}
		lines = append(lines, "",
			c.row(set.Name+" required", yellow, set.Max, set.Required.String(),
				func(s timeline.Sample) timeline.Reading { return of(s).Required }, p),
			c.row(set.Name+" replicas", cyan, set.Max, set.Desired.String()+fmt.Sprintf(" of %d", set.Max),
				func(s timeline.Sample) timeline.Reading { return of(s).Desired }, p))
		for n := range set.Max {
			lines = append(lines, c.lane(set.Name, fmt.Sprintf("%s-%d", set.Name, n), p))
		}
	}
	return append(lines, "", c.axis(p), stateLegend(p))
}

// stateStyle returns the style and the sign of a worker state.
func stateStyle(s timeline.State) (style, sign string) {
	switch s {
	case timeline.Starting:
		return dim, "░"
	case timeline.Idle:
		return green, "▒"
	case timeline.Busy:
		return green, "█"
	case timeline.Draining:
		return yellow, "▚"
	case timeline.Terminating:
		return dim, "▁"
	case timeline.Lost:
		return red, "X"
	}
	return dim, " "
}

func stateLegend(p painter) string {
	text := strings.Repeat(" ", labelWidth)
	for _, s := range timeline.States() {
		style, sign := stateStyle(s)
		text += p(style, sign+sign) + " " + p(dim, s.String()) + "  "
	}
	return text
}

// formatSeconds formats a time in whole seconds.
func formatSeconds(d time.Duration) string { return fmt.Sprintf("%ds", int(d.Seconds())) }

package burst

import (
	"fmt"
	"strings"
)

// Summary is the result of a burst.
type Summary struct {
	// Jobs is the number of jobs that can run, Ran the number of jobs that ran to completion.
	Jobs, Ran int
	// Lost describes each template with jobs that did not run to completion.
	Lost []string
	// NeverFits describes each template whose jobs can never run.
	NeverFits []string
}

// Summarize summarizes the outcomes. reported is whether the autoscaling metrics counted the jobs
// that never fit.
func Summarize(outcomes []Outcome, reported bool) Summary {
	var s Summary
	for _, o := range outcomes {
		if o.NeverFits {
			s.NeverFits = append(s.NeverFits, o.describeNeverFits(reported))
			continue
		}
		s.Jobs += o.Tasks
		s.Ran += o.Done
		if o.Done != o.Tasks {
			s.Lost = append(s.Lost, o.describeLost())
		}
	}
	return s
}

func (o Outcome) describeNeverFits(reported bool) string {
	switch {
	case o.Refusal != "":
		return o.Title + ": refused by Slurm"
	case o.Running > 0:
		return o.Title + ": it runs although it should not fit"
	case reported:
		return o.Title + ": reported as unsatisfiable, no worker started for it, cancelled"
	default:
		return o.Title + ": not reported as unsatisfiable"
	}
}

func (o Outcome) describeLost() string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(o.Failed, "failed or restarted")
	add(o.Pending, "pending ("+o.Reason+")")
	add(o.Running, "running")
	add(o.Missing(), "unknown to Slurm")
	for _, more := range []string{o.Refusal, o.Failure} {
		if more != "" {
			parts = append(parts, more)
		}
	}
	return fmt.Sprintf("%s (job %d): %s", o.Title, o.ID, strings.Join(parts, ", "))
}

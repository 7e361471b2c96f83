package burst

import (
	"fmt"
	"strings"
)

// Summary is what became of a burst as a whole.
type Summary struct {
	// Jobs is how many were to run, Ran how many of them ran to their end.
	Jobs, Ran int
	// Lost tells of each that did not.
	Lost []string
	// Unfit tells what became of those that can never run.
	Unfit []string
}

// Sum sums up. reported is whether the autoscaler's metrics told of those that never fit.
func Sum(outcomes []Outcome, reported bool) Summary {
	var s Summary
	for _, o := range outcomes {
		if o.Unfit {
			s.Unfit = append(s.Unfit, o.unfit(reported))
			continue
		}
		s.Jobs += o.Tasks
		s.Ran += o.Done
		if o.Done != o.Tasks {
			s.Lost = append(s.Lost, o.lost())
		}
	}
	return s
}

func (o Outcome) unfit(reported bool) string {
	switch {
	case o.Refused != "":
		return o.Title + ": refused by Slurm"
	case o.Running > 0:
		return o.Title + ": it runs, which it should not"
	case reported:
		return o.Title + ": reported as unsatisfiable, no worker started for it, cancelled"
	default:
		return o.Title + ": not reported as unsatisfiable"
	}
}

func (o Outcome) lost() string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(o.Failed, "failed or were started anew")
	add(o.Pending, "pending ("+o.Reason+")")
	add(o.Running, "running")
	add(o.Missing(), "not known to Slurm")
	for _, more := range []string{o.Refused, o.Trouble} {
		if more != "" {
			parts = append(parts, more)
		}
	}
	return fmt.Sprintf("%s (job %d): %s", o.Title, o.ID, strings.Join(parts, ", "))
}

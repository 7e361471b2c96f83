package play

import (
	"errors"
	"fmt"
	"strings"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/burst"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
)

// Result is what came of a play.
type Result struct {
	Line     timeline.Timeline
	Outcomes []burst.Outcome
	Summary  burst.Summary
	// Zero: all NodeSets were at zero at the end. Reported: what never fits was told of
	// by the metrics.
	Zero, Reported bool
}

// Verdict is nil when every job ran to its end at its first start, what never fits was
// not run, and all is at zero.
func (r Result) Verdict() error {
	switch {
	case len(r.Summary.Lost) > 0:
		return fmt.Errorf("%d of %d jobs did not run to their end", r.Summary.Jobs-r.Summary.Ran, r.Summary.Jobs)
	case !r.Zero:
		return fmt.Errorf("zero was not reached: %s", left(r.Line.Last()))
	case r.unreported():
		return errors.New("a job that never fits was not reported as unsatisfiable")
	}
	return nil
}

// unreported tells of a job that Slurm took though it never fits, and nobody told.
func (r Result) unreported() bool {
	for _, o := range r.Outcomes {
		if o.Unfit && o.Refused == "" && !r.Reported {
			return true
		}
	}
	return false
}

func left(s timeline.Sample) string {
	var parts []string
	for _, set := range s.Sets {
		if !set.AtZero() {
			parts = append(parts, fmt.Sprintf("%s has %d workers and wants %s", set.Name, len(set.Workers), set.Desired))
		}
	}
	if len(parts) == 0 {
		return "nothing was seen"
	}
	return strings.Join(parts, "; ")
}

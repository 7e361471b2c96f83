package play

import (
	"errors"
	"fmt"
	"strings"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/burst"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
)

// Result is the result of a play.
type Result struct {
	Timeline timeline.Timeline
	Outcomes []burst.Outcome
	Summary  burst.Summary
	// EndedAtZero is true when all NodeSets were at zero at the end. Reported is true when the
	// metrics reported the jobs that never fit.
	EndedAtZero, Reported bool
}

// Verdict returns nil when every job ran to completion without a restart, the jobs that never fit
// were rejected or reported, and all NodeSets are at zero.
func (r Result) Verdict() error {
	switch {
	case len(r.Summary.Lost) > 0:
		return fmt.Errorf("%d of %d jobs did not run to completion", r.Summary.Jobs-r.Summary.Ran, r.Summary.Jobs)
	case !r.EndedAtZero:
		return fmt.Errorf("the NodeSets did not return to zero: %s", describeRemaining(r.Timeline.Last()))
	case r.hasUnreportedJob():
		return errors.New("a job that never fits was not reported as unsatisfiable")
	}
	return nil
}

// hasUnreportedJob reports whether Slurm accepted a job that never fits and no metric reported it.
func (r Result) hasUnreportedJob() bool {
	for _, o := range r.Outcomes {
		if o.NeverFits && o.Refusal == "" && !r.Reported {
			return true
		}
	}
	return false
}

func describeRemaining(s timeline.Sample) string {
	var parts []string
	for _, set := range s.Sets {
		if !set.AtZero() {
			parts = append(parts, fmt.Sprintf("%s has %d workers and %s replicas", set.Name, len(set.Workers),
				set.Desired))
		}
	}
	if len(parts) == 0 {
		return "no NodeSet was observed"
	}
	return strings.Join(parts, "; ")
}

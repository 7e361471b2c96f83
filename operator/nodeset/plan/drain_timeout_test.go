package plan

import (
	"slices"
	"testing"
	"time"
)

func TestATimeoutWithoutADrainEndsOnlyAWorkerThatIsStillFuture(t *testing.T) {
	s := newInput(0, 1, withTimeout(30*time.Second), withCause(0, causeScaleIn),
		withRecord(0, func(r *Record) { r.Future = true }))
	for _, step := range s.runPlanner().Steps {
		if step.Verb == DeletePod && step.Precondition == PreconditionStillFuture {
			return
		}
	}
	t.Errorf("the steps are %q", formatSteps(s.runPlanner()))
}

func TestATimeoutBeginsNotBeforeOurDrain(t *testing.T) {
	for what, tc := range map[string]struct {
		drainedAt time.Time
		deleted   bool
	}{
		"Slurm has an earlier time than the timeout": {noon.Add(-time.Minute), true},
		"Slurm has a time within the timeout":        {noon.Add(-10 * time.Second), false},
		"Slurm's clock is ahead":                     {noon.Add(time.Hour), false},
		"others drained it":                          {time.Time{}, true},
	} {
		t.Run(what, func(t *testing.T) {
			s := newInput(0, 1, withTimeout(30*time.Second), withCause(0, causeScaleIn), withRecord(0, func(r *Record) {
				r.Drain, r.Busy, r.OurReason, r.OurReasonAt = true, true, !tc.drainedAt.IsZero(), tc.drainedAt
			}))
			mark := &s.observed.Workers[0].DrainMark // as a user edited it
			mark.Since, mark.Drained = noon.Add(-50*time.Minute), noon.Add(-50*time.Minute)
			a := s.runPlanner()
			deleted := slices.ContainsFunc(a.Steps, func(step Step) bool { return step.Verb == DeletePod })
			if deleted != tc.deleted {
				t.Errorf("deleted: %v, want %v: %q", deleted, tc.deleted, formatSteps(a))
			}
		})
	}
}

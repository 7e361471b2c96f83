package plan

import (
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

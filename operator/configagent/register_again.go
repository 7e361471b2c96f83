package configagent

import (
	"context"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// HoldForSteps returns a Hold for the agent of a slurmd. A request to register again waits while a step runs: slurmctld
// ends the steps of an unknown job when their node registers. Keys wait only together with such a request, because
// slurmd registers when it reads them.
func HoldForSteps(hasSteps func() (bool, error)) func(ctx context.Context, inForce, files Files) error {
	return func(_ context.Context, inForce, files Files) error {
		if inForce.text(slurmconf.RegisterAgainFile) == files.text(slurmconf.RegisterAgainFile) {
			return nil
		}
		switch running, err := hasSteps(); {
		case err != nil:
			return err
		case running:
			return &HeldError{Reason: "StepsRunning", Message: "slurmd registers again when its steps have ended"}
		}
		return nil
	}
}

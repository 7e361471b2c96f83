package configagent

import (
	"context"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// HoldForSteps returns a Hold of the agent of a slurmd. A request to register again waits while a step runs: slurmctld
// ends the steps of a job that it does not know when their node registers. Keys do not wait.
func HoldForSteps(hasSteps func() (bool, error)) func(ctx context.Context, inForce, files Files) error {
	return func(_ context.Context, inForce, files Files) error {
		a, b := inForce.without(slurmconf.RegisterAgainFile), files.without(slurmconf.RegisterAgainFile)
		if inForce.Equal(files) || !a.Equal(b) {
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

// without returns the files but the one of that name.
func (f Files) without(name string) Files {
	out := Files{}
	for n, file := range f {
		if n != name {
			out[n] = file
		}
	}
	return out
}

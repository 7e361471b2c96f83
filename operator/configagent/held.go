package configagent

import (
	"context"
	"errors"
	"slices"
)

// HeldError reports that a checked configuration must wait.
type HeldError struct {
	// Reason is the reason of a condition, such as PartitionInUse, and Message what is waited for, and the way out.
	Reason, Message string
}

func (e *HeldError) Error() string { return e.Message }

// Held is what a revision waits for. The fields are those of HeldError.
type Held struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// hold returns what Hold says of files that would replace those in force: those that the daemon has or may have
// from an earlier agent, those that its users have, and those that another pod of it has applied last, such as a slurmctld of the
// same state.
func (a *Agent) hold(ctx context.Context, files Files) error {
	if a.cfg.Hold == nil {
		return nil
	}
	accepted, err := a.readAccepted()
	if err != nil {
		return err
	}
	own := a.inForce.Files
	replaced := []Files{a.inForce.HandedOut, accepted.HandedOut, accepted.Files, own}
	if own == nil {
		replaced = []Files{accepted.Files} // a start hands nothing out
	}
	if !a.givenEarlierAt.IsZero() && !a.inForce.Given.Equal(files) {
		replaced = append(replaced, a.inForce.Given)
	}
	for i, before := range replaced {
		if before == nil || slices.ContainsFunc(replaced[i+1:], before.hasRevisionOf) {
			continue
		}
		if err := a.cfg.Hold(ctx, before, files); err != nil {
			return err
		}
	}
	return nil
}

// holdRestore returns an error while the files in force must not be restored: the daemon has files of an earlier agent and may have
// served with them, so that jobs depend on them. A daemon that does not answer for undoDelay gets the files in force.
func (a *Agent) holdRestore(ctx context.Context, files Files) error {
	if a.givenEarlierAt.IsZero() || a.cfg.Hold == nil || a.inForce.Given.Equal(files) {
		return nil
	}
	var answer error
	if a.cfg.Confirm != nil {
		answer = a.cfg.Confirm(ctx, a.givenEarlierAt)
	}
	var starting *StartingError
	switch {
	case answer == nil:
		return a.cfg.Hold(ctx, a.inForce.Given, files)
	case errors.As(answer, &starting) && a.cfg.Now().Before(a.givenEarlierAt.Add(undoDelay)):
		return answer
	}
	return nil // the daemon has ended, or hangs
}

// noteHeldRestore has the files in force restored later. The status keeps the error of the wanted files.
func (a *Agent) noteHeldRestore(err error) {
	if a.restoreHeld != err.Error() {
		a.restoreHeld = err.Error()
		a.cfg.Log.Warn("what was in force before is not restored yet", "err", err)
	}
	a.update(func() { a.last.givenAt = a.cfg.Now() })
}

package configagent

import (
	"context"
	"errors"
	"slices"
)

// HeldError reports that a checked configuration must wait.
type HeldError struct {
	// Reason is the reason of a condition, such as PartitionInUse. Message names what the revision waits for, and the way out.
	Reason, Message string
}

func (e *HeldError) Error() string { return e.Message }

// Held describes what a revision waits for. The fields match HeldError.
type Held struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// hold asks Hold about files that would replace others. The others are the daemon's files, confirmed or not, the files of its users,
// and the files that another pod applied last, such as a slurmctld of the same state.
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
	if !a.inForce.Given.Equal(files) && a.mayServe(ctx) {
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

// mayServe reports whether the daemon may serve with files that it received but has not confirmed. A daemon that has not answered for
// undoDelay hangs.
func (a *Agent) mayServe(ctx context.Context) bool {
	if a.mayServeSince.IsZero() {
		return false
	}
	err := a.answer(ctx)
	return err == nil || a.mayStillAnswer(err)
}

// answer returns the result of Confirm for a daemon that may serve with unconfirmed files.
func (a *Agent) answer(ctx context.Context) error {
	if a.cfg.Confirm == nil {
		return nil
	}
	return a.cfg.Confirm(ctx, a.mayServeSince)
}

// mayStillAnswer reports whether an error of Confirm allows that the daemon is still starting.
func (a *Agent) mayStillAnswer(err error) bool {
	var starting *StartingError
	return errors.As(err, &starting) && a.cfg.Now().Before(a.mayServeSince.Add(undoDelay))
}

// holdRestore returns an error while the files in force must not be restored: the daemon may serve with later files, and jobs may
// depend on them. A daemon that does not answer for undoDelay gets the files in force.
func (a *Agent) holdRestore(ctx context.Context, files Files) error {
	if a.mayServeSince.IsZero() || a.cfg.Hold == nil || a.inForce.Given.Equal(files) {
		return nil
	}
	switch err := a.answer(ctx); {
	case err == nil:
		return a.cfg.Hold(ctx, a.inForce.Given, files)
	case a.mayStillAnswer(err):
		return err
	}
	return nil // the daemon has ended, or hangs
}

// noteHeldRestore delays the restore of the files in force. The status keeps the error of the wanted files. If jobs depend on later
// files, other pods get the later files, and so does the daemon at a restart. With the files in force, which an attempted restore left
// in the live folder, the next pod, a standby and this daemon would end the jobs.
func (a *Agent) noteHeldRestore(ctx context.Context, err error) {
	var held *HeldError
	if errors.As(err, &held) {
		a.keepGiven(ctx)
		a.leaveGiven()
	}
	if a.restoreHeld != err.Error() {
		a.restoreHeld = err.Error()
		a.cfg.Log.Warn("what was in force before is not restored yet", "err", err)
	}
	a.update(func() { a.last.givenAt = a.cfg.Now() })
}

// keepGiven keeps for other pods the files that the daemon received, instead of the files in force. setInForce ends it.
func (a *Agent) keepGiven(ctx context.Context) {
	record := inForce{Files: a.inForce.Given, HandedOut: a.inForce.HandedOut}
	accepted, err := a.readAccepted()
	if err == nil && !accepted.Files.hasRevisionOf(record.Files) {
		err = a.writeAccepted(ctx, record)
	}
	if err != nil && !errors.Is(err, ErrStandby) {
		a.cfg.Log.Error("what jobs depend on is not kept for other pods", "err", err)
	}
}

// leaveGiven writes to the live folder the files that the daemon received, instead of the files in force.
func (a *Agent) leaveGiven() {
	live, err := ReadFiles(a.cfg.Live)
	if err == nil && !live.Equal(a.inForce.Given) {
		err = a.write.writeFolder(a.cfg.Live, a.inForce.Given)
	}
	if err != nil {
		a.cfg.Log.Error("the folder of the daemon lacks what jobs depend on", "err", err)
	}
}

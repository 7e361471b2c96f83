package configagent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// StartingError reports that the daemon has been given files and may still be reading them.
type StartingError struct{ Message string }

func (e *StartingError) Error() string { return e.Message }

// UnsureError reports that the daemon runs and was not seen to read the files that it was given, but may do so.
type UnsureError struct{ Err error }

func (e *UnsureError) Error() string { return e.Err.Error() }

func (e *UnsureError) Unwrap() error { return e.Err }

// look takes the next step towards the wanted files.
func (a *Agent) look(ctx context.Context) {
	wanted, err := ReadFiles(a.cfg.Wanted)
	if err != nil {
		a.failReading(fmt.Errorf("reading the wanted files: %w", err))
		return
	}
	delete(wanted, slurmconf.ForcedRevisionFile) // Hold reads it itself
	delete(wanted, slurmconf.StateFile)          // StateGuard does
	brought := wanted.text(slurmconf.RevisionFile)
	wanted = a.followServing(ctx, a.keepKeySet(wanted))
	a.update(func() {
		if a.brought = brought; wanted.Equal(a.last.wanted) {
			a.last.brought = brought
		}
	})
	files, assembling := a.cfg.Daemon.Assemble(wanted)
	_ = a.keepForOtherPods(ctx) // stepSettle reports the error
	for range 3 {               // a failed attempt is undone at once
		switch nextStep(a.cfg.Now(), a.inForce, a.last, wanted, files, a.started) {
		case stepSettle:
			if err := a.keepForOtherPods(ctx); err != nil {
				a.note(err)
				a.handOutFiles(ctx)
				return
			}
			a.settle(wanted)
		case stepTry:
			a.try(ctx, wanted, files, assembling)
		case stepConfirm:
			a.confirm(ctx)
		case stepRestore:
			if assembling != nil {
				files = wanted
			}
			a.restore(ctx, files)
		case stepNone:
		}
	}
	a.handOutFiles(ctx)
}

// settle notes that the wanted files are in force.
func (a *Agent) settle(wanted Files) {
	revision := wanted.text(slurmconf.RevisionFile)
	if a.last.revision != revision || a.last.err != nil {
		a.cfg.Log.Info("configuration is in force", "revision", revision)
	}
	a.update(func() { a.last = attempt{wanted: wanted, revision: revision, brought: a.brought} })
}

// try checks the wanted files and gives them to the daemon.
func (a *Agent) try(ctx context.Context, wanted, files Files, assembling error) {
	if a.last.wanted == nil || !wanted.Equal(a.last.wanted) {
		a.confirmEarlier(ctx)
		revision := wanted.text(slurmconf.RevisionFile)
		a.update(func() {
			a.last = attempt{wanted: wanted, revision: revision, brought: a.brought, accepted: a.last.accepted}
		})
	}
	err := assembling
	if err == nil && !a.started {
		err = a.cfg.BeforeStart(ctx)
	}
	if err == nil {
		err = a.check(ctx, files)
	}
	if err == nil {
		err = a.hold(ctx, files)
	}
	if err != nil {
		a.fail(ctx, err, false)
		return
	}
	a.finish(ctx, a.give(ctx, files, awaitsWanted))
}

// check returns an error if the daemon would not start with files. It does not try the same files again.
func (a *Agent) check(ctx context.Context, files Files) error {
	if a.last.accepted != nil && files.Equal(a.last.accepted) {
		return nil
	}
	if err := a.cfg.Check(ctx, files); err != nil {
		return err
	}
	a.last.accepted = files
	return nil
}

// give writes files to the live folder and makes the daemon read them. It first writes the record in force to disk, so that the next
// agent finds it.
func (a *Agent) give(ctx context.Context, files Files, awaits awaited) error {
	record, effect := a.inForce, a.effectOf(files)
	if record.Files == nil {
		var err error
		if record.Files, record.HandedOut, err = a.recordOfEarlierPod(files); err != nil {
			return err
		}
	}
	isDue := a.mustHandOut(record, files, effect)
	if isDue && record.HandedOut == nil {
		record.HandedOut = filesOfUsers(record)
	}
	if awaits == awaitsWanted || record.Given == nil {
		record.Given = files
	}
	started := a.started
	if err := a.write.writeRecord(a.cfg.Live, record); err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	a.update(func() {
		a.inForce, a.last.awaited, a.last.givenAt = record, awaits, a.cfg.Now()
		if awaits == awaitsWanted {
			a.mayServeSince = a.cfg.Now()
		}
		if isDue {
			a.handOut = handOut{}
		}
	})
	a.keepHandedOut(ctx, record)
	if err := a.write.writeFolder(a.cfg.Live, files); err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	a.update(func() { a.started = true })
	switch {
	case started:
		err := a.cfg.Apply(ctx, effect)
		if err == nil && effect == slurmconf.NeedsReconfigure { // which hands them out
			a.update(func() { a.inForce.HandedOut, a.handOut = nil, handOut{} })
		}
		if errors.Is(err, ErrNotHandedOut) {
			return nil
		}
		return err
	case a.cfg.Confirm == nil:
		return nil
	}
	return &StartingError{a.cfg.Daemon.Name + " is starting"}
}

// effectOf returns the action that makes the daemon read files. A daemon with unknown files reads them anyway.
func (a *Agent) effectOf(files Files) slurmconf.Effect {
	effect := a.cfg.Daemon.effectOf(a.inForce.Files, files)
	if a.inForce.Given != nil {
		effect = max(effect, a.cfg.Daemon.effectOf(a.inForce.Given, files), slurmconf.NeedsReconfigure)
	}
	return effect
}

// confirm asks the daemon whether it has read its files.
func (a *Agent) confirm(ctx context.Context) {
	if a.cfg.Confirm == nil { // Apply has said that it is starting
		a.finish(ctx, nil)
		return
	}
	a.finish(ctx, a.cfg.Confirm(ctx, a.last.givenAt))
}

// confirmEarlier asks the daemon for the last time whether it has read the earlier files, before it gets other files. If so, the
// earlier files stay in force should the others fail.
func (a *Agent) confirmEarlier(ctx context.Context) {
	if a.last.awaited != awaitsNothing && a.cfg.Confirm != nil && a.cfg.Confirm(ctx, a.last.givenAt) == nil {
		_ = a.setInForce(ctx, a.last.awaited == awaitsRestored) // the next attempt reports the error
	}
}

// finish records the result of giving the daemon files. If it failed with the wanted files, the files in force are next.
func (a *Agent) finish(ctx context.Context, err error) {
	restored := a.last.awaited == awaitsRestored
	if err == nil {
		err = a.setInForce(ctx, restored)
	}
	var starting *StartingError
	switch {
	case err == nil && restored:
		a.update(func() {
			a.last.awaited = awaitsNothing
			if a.last.isGiven { // the daemon serves until then
				a.last.retryAt, a.last.isGiven = backoff(a.cfg.Now(), a.last.failures, true), false
			}
		})
		a.cfg.Log.Info("what was in force before is in force again",
			"revision", a.inForce.Files.text(slurmconf.RevisionFile))
	case err == nil:
		a.update(func() { a.last.awaited = awaitsNothing })
	case errors.As(err, &starting): // look again
	case restored:
		a.cfg.Log.Error("what was in force before is not in force again", "err", err)
		a.update(func() { a.last.awaited, a.last.givenAt = awaitsNothing, a.cfg.Now() })
	default:
		var unsure *UnsureError
		if !errors.As(err, &unsure) && ctx.Err() == nil {
			a.update(func() { a.mayServeSince = time.Time{} })
		}
		a.fail(ctx, err, true)
	}
}

// setInForce records that the daemon has the files in the live folder. The copy for other pods is written first, so that an agent that
// ends in between repeats it. If that fails, the daemon still has the files.
func (a *Agent) setInForce(ctx context.Context, restored bool) error {
	record := inForce{Files: a.inForce.Given, Since: a.cfg.Now(), HandedOut: a.inForce.HandedOut}
	if restored {
		record.Files = a.inForce.Files
	}
	record = a.keep(ctx, record)
	if err := a.write.writeRecord(a.cfg.Live, record); err != nil {
		err = fmt.Errorf("keeping the configuration that is in force: %w", err)
		a.note(err)
		return &StartingError{err.Error()}
	}
	a.update(func() { a.inForce, a.mayServeSince = record, time.Time{} })
	return nil
}

// keepForOtherPods writes the files in force for other pods if that was impossible before, as for a standby that took over. The daemon
// must have the files and answer.
func (a *Agent) keepForOtherPods(ctx context.Context) error {
	if !a.inForce.Unkept || a.inForce.Given != nil || a.last.awaited != awaitsNothing || !a.doesDaemonAnswer(ctx) {
		return nil
	}
	record := a.inForce
	record.Unkept = false
	err := a.writeAccepted(ctx, record)
	if errors.Is(err, ErrStandby) {
		return nil
	}
	if err == nil {
		err = a.write.writeRecord(a.cfg.Live, record)
	}
	if err != nil {
		return fmt.Errorf("keeping the configuration that is in force: %w", err)
	}
	a.update(func() { a.inForce = record })
	return nil
}

// restore gives the daemon the files in force again: the files that it confirmed last or, if it never started, the files of an earlier
// pod. A daemon in standby may take over at any moment: it gets the files of the serving daemon, or keeps them if it has them already.
func (a *Agent) restore(ctx context.Context, wanted Files) {
	files, isOfServing, err := a.filesToRestore(ctx, wanted)
	if err == nil && files == nil {
		return // nothing was ever in force
	}
	if err != nil || !a.started && a.cfg.BeforeStart(ctx) != nil {
		a.update(func() { a.last.givenAt = a.cfg.Now() }) // the attempt reports the error
		return
	}
	if isOfServing && files.hasRevisionOf(a.inForce.Given) {
		a.update(func() {
			a.last.givenAt = a.cfg.Now()
			if a.last.isGiven {
				a.last.retryAt, a.last.isGiven = backoff(a.cfg.Now(), a.last.failures, true), false
			}
		})
		return
	}
	if err := a.holdRestore(ctx, files); err != nil {
		a.noteHeldRestore(ctx, err)
		return
	}
	if isOfServing && a.inForce.Files != nil {
		a.update(func() { a.inForce.Files = files })
	}
	a.cfg.Log.Warn("the daemon gets what was in force before", "revision", files.text(slurmconf.RevisionFile))
	a.finish(ctx, a.give(ctx, files, awaitsRestored))
}

// filesToRestore returns the files that restore gives to the daemon, or nil. It also reports whether the daemon is in standby and the
// serving daemon has these files.
func (a *Agent) filesToRestore(ctx context.Context, wanted Files) (files Files, isOfServing bool, err error) {
	files = a.inForce.Files
	isStandby := a.started && a.isStandby(ctx)
	if files != nil && !isStandby {
		return files, false, nil
	}
	accepted, _, err := a.recordOfEarlierPod(wanted)
	if err != nil || accepted == nil {
		return files, false, err
	}
	return accepted, isStandby, nil
}

// fail records why the wanted files are not in force, and when to try them again. isGiven is true if the daemon received them.
func (a *Agent) fail(ctx context.Context, err error, isGiven bool) {
	if ctx.Err() != nil {
		return // unknown
	}
	var refused *RefusedError
	var held *HeldError
	now, failures, retryAt := a.cfg.Now(), a.last.failures, time.Time{}
	switch {
	case errors.As(err, &refused):
	case errors.As(err, &held):
		retryAt = now.Add(retryDelay)
	default:
		failures++
		retryAt = backoff(now, failures, isGiven)
		if least := now.Add(undoDelay); isGiven && a.inForce.Files != nil && retryAt.Before(least) {
			retryAt = least
		}
	}
	a.note(err)
	a.update(func() {
		a.last.failures, a.last.retryAt, a.last.awaited, a.last.givenAt = failures, retryAt, awaitsNothing, time.Time{}
		a.last.isGiven = isGiven
	})
}

// failReading records that the wanted files are unknown.
func (a *Agent) failReading(err error) {
	if a.last.awaited == awaitsNothing {
		a.update(func() { a.last.wanted = nil })
	}
	a.note(err)
}

// note sets why the wanted files are not in force, which look tries again.
func (a *Agent) note(err error) {
	if a.last.err == nil || a.last.err.Error() != err.Error() {
		a.cfg.Log.Error("configuration is not applied", "revision", a.last.revision, "err", err)
	}
	a.update(func() { a.last.err, a.last.retryAt = err, a.cfg.Now().Add(a.cfg.Interval) })
}

// update changes the records.
func (a *Agent) update(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

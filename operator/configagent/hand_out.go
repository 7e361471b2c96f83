package configagent

import (
	"context"
	"errors"
	"fmt"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// ErrNotHandedOut reports that the daemon has its files, and has not handed them out: it was started again.
var ErrNotHandedOut = errors.New("it did not answer in a reconfigure, and was started again")

// ErrStandby reports that another daemon of the same state serves, which hands files out.
var ErrStandby = errors.New("another one serves")

// mustHandOut reports whether the users of the daemon need other files when it gets files. Whether it hands them out in a
// reconfigure is known only afterwards.
func (a *Agent) mustHandOut(record inForce, files Files, effect slurmconf.Effect) bool {
	switch {
	case a.cfg.HandOut == nil:
		return false
	case a.started:
		return effect != slurmconf.NoEffect
	}
	return record.Files != nil && a.cfg.Daemon.effectOf(record.Files, files) != slurmconf.NoEffect
}

// filesOfUsers returns the files that the users of the daemon have if nothing waits to be handed out.
func filesOfUsers(record inForce) Files {
	if record.Files == nil { // its first start may have failed
		return record.Given.withoutKeys()
	}
	return record.Files.withoutKeys()
}

// keepHandedOut keeps HandedOut of a record for other pods before the daemon gets new files. It does not replace files that another
// daemon of the same state has applied, so the daemon must answer. Errors are only logged: setInForce writes it again.
func (a *Agent) keepHandedOut(ctx context.Context, record inForce) {
	if record.HandedOut == nil || !a.doesDaemonAnswer(ctx) || a.isStandby(ctx) {
		return
	}
	accepted, err := a.readAccepted()
	if err == nil && (accepted.HandedOut != nil || !accepted.Files.hasRevisionOf(record.Files)) {
		return
	}
	if err == nil {
		err = a.write.writeAccepted(a.cfg.Accepted, accepted.Files, record.HandedOut)
	}
	if err != nil {
		a.cfg.Log.Error("what is to be handed out is not kept for other pods", "err", err)
	}
}

// isHandedOutByAnother reports whether the accepted folder marks the revision of a record as handed out.
func (a *Agent) isHandedOutByAnother(record inForce) bool {
	accepted, err := a.readAccepted()
	return err == nil && accepted.Files.hasRevisionOf(record.Files) && accepted.HandedOut == nil
}

// hasRevisionOf reports whether both are files of the same revision.
func (f Files) hasRevisionOf(other Files) bool {
	revision := f.text(slurmconf.RevisionFile)
	return revision != "" && revision == other.text(slurmconf.RevisionFile)
}

// handOutFiles makes the daemon hand out its files, once it has confirmed them and Hold allows it.
func (a *Agent) handOutFiles(ctx context.Context) {
	now := a.cfg.Now()
	if a.inForce.HandedOut == nil || a.cfg.HandOut == nil || a.inForce.Given != nil || a.last.awaited != awaitsNothing ||
		now.Before(a.handOut.retryAt) {
		return
	}
	err := a.tryToHandOut(ctx)
	if ctx.Err() != nil {
		return // unknown
	}
	next := handOut{err: err, failures: a.handOut.failures, retryAt: now.Add(retryDelay)}
	var held *HeldError
	var undecided *undecidedError
	switch {
	case err == nil:
		next = handOut{}
	case errors.Is(err, ErrStandby):
		next.err = nil
	case errors.As(err, &held):
		next.err = &HeldError{held.Reason, fmt.Sprintf("%s has started with it, and hands it out later: %s", a.cfg.Daemon.Name, held.Message)}
	default:
		next.failures++
		next.err = fmt.Errorf("%s has started, and does not hand its configuration out: %w", a.cfg.Daemon.Name, err)
		next.retryAt = backoff(now, next.failures, !errors.As(err, &undecided))
	}
	if next.err != nil && (a.handOut.err == nil || a.handOut.err.Error() != next.err.Error()) {
		a.cfg.Log.Error("configuration is not handed out", "err", next.err, "retryAt", next.retryAt)
	}
	a.update(func() { a.handOut = next })
}

// undecidedError is an error of Hold other than *HeldError.
type undecidedError struct{ error }

func (e *undecidedError) Unwrap() error { return e.error }

// tryToHandOut returns nil if the files in force are handed out, by this daemon or by another one of the same state.
func (a *Agent) tryToHandOut(ctx context.Context) error {
	if !a.inForce.Unkept && a.isHandedOutByAnother(a.inForce) {
		return a.noteHandedOut(ctx)
	}
	if a.cfg.CheckServes != nil {
		if err := a.cfg.CheckServes(ctx); err != nil {
			return err
		}
	}
	if a.cfg.Hold != nil {
		err := a.cfg.Hold(ctx, a.inForce.HandedOut, a.inForce.Files)
		var held *HeldError
		if err != nil && !errors.As(err, &held) {
			return &undecidedError{err}
		}
		if err != nil {
			return err
		}
	}
	if err := a.cfg.HandOut(ctx); err != nil {
		return err
	}
	return a.noteHandedOut(ctx)
}

// noteHandedOut records, for the next agent of the pod and for other pods, that nothing waits to be handed out.
func (a *Agent) noteHandedOut(ctx context.Context) error {
	record := a.inForce
	record.HandedOut = nil
	record = a.keep(ctx, record)
	if err := a.write.writeRecord(a.cfg.Live, record); err != nil {
		return fmt.Errorf("keeping what is handed out: %w", err)
	}
	a.update(func() { a.inForce = record })
	return nil
}

package configagent

import (
	"context"
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

// hold returns what Hold says of files that would replace those in force: those that the daemon has, those that its users have, and
// those that another pod of it has applied last, such as a slurmctld of the same state.
func (a *Agent) hold(ctx context.Context, files Files) error {
	if a.cfg.Hold == nil {
		return nil
	}
	own, accepted := a.inForce.Files, readAcceptedRecord(a.cfg.Accepted, a.cfg.Daemon.Conf)
	replaced := []Files{a.inForce.HandedOut, accepted.HandedOut, accepted.Files, own}
	if own == nil {
		replaced = []Files{accepted.Files} // a start hands nothing out
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

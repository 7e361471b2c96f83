package configagent

import (
	"context"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
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

// hold returns what Hold says of files that would replace those in force: those that the daemon has, and those that another pod
// of it has applied last, such as a slurmctld of the same state.
func (a *Agent) hold(ctx context.Context, files Files) error {
	if a.cfg.Hold == nil {
		return nil
	}
	own, ofOthers := a.inForce.Files, readAccepted(a.cfg.Accepted, a.cfg.Daemon.Conf)
	if ofOthers != nil && (own == nil || ofOthers.text(slurmconf.RevisionFile) != own.text(slurmconf.RevisionFile)) {
		if err := a.cfg.Hold(ctx, ofOthers, files); err != nil {
			return err
		}
	}
	if own == nil {
		return nil // nothing else was ever in force
	}
	return a.cfg.Hold(ctx, own, files)
}

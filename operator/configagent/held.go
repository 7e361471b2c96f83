package configagent

import "context"

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

// hold returns what Hold says of files that would replace those in force, which before the daemon has started are those of
// an earlier pod.
func (a *Agent) hold(ctx context.Context, files Files) error {
	if a.cfg.Hold == nil {
		return nil
	}
	current := a.inForce.Files
	if current == nil {
		current = readAccepted(a.cfg.Accepted, a.cfg.Daemon.Conf)
	}
	if current == nil {
		return nil // nothing was ever in force
	}
	return a.cfg.Hold(ctx, current, files)
}

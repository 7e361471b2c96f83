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

// hold returns what Hold says of files that would replace those in force, which a daemon that has not started yet finds
// in the accepted folder.
func (a *Agent) hold(ctx context.Context, files Files) error {
	if a.cfg.Hold == nil {
		return nil
	}
	inForce := a.applied
	if !a.HasStarted() {
		accepted, err := ReadFiles(a.cfg.Accepted)
		if err != nil || accepted.text(a.cfg.Daemon.Conf) == "" {
			return nil // nothing was ever in force
		}
		inForce = accepted
	}
	return a.cfg.Hold(ctx, inForce, files)
}

// setHeld notes what a revision waits for.
func (a *Agent) setHeld(revision string, held *HeldError) {
	status := Held(*held)
	a.mu.Lock()
	changed := a.status.Held == nil || *a.status.Held != status
	a.status.Held = &status
	a.mu.Unlock()
	if changed {
		a.cfg.Log.Warn("configuration is held", "revision", revision, "reason", held.Reason, "message", held.Message)
	}
}

package configagent

import (
	"errors"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Status is the state of the agent. It contains no secret.
type Status struct {
	// Wanted is the revision of the files that the kubelet brought last. Applied is the revision that the daemon has. Both are
	// empty if unknown; Applied is also empty while Given is not.
	Wanted  string `json:"wanted"`
	Applied string `json:"applied"`
	// Given is the revision that the daemon was given and has not confirmed. It may still have an earlier one.
	Given string `json:"given,omitempty"`
	// Following is the revision of the serving daemon, if the agent applies it instead of Wanted. It is empty if the agent applies
	// Wanted. Error and Held then refer to Following.
	Following string `json:"following,omitempty"`
	// Keys is the key set of auth/slurm that the daemon has, by the ids of the keys (slurmconf.KeySetFile). It is
	// empty for a slurm.key.
	Keys string `json:"keys,omitempty"`
	// JWTKeys are the ids of the daemon's auth/jwt keys (slurmconf.JWTKeysFile). It is empty for a key that a user provides.
	JWTKeys string `json:"jwtKeys,omitempty"`
	// Sessions is the number of user connections to the pod. It is nil where no connections exist to count, or counting fails.
	Sessions *int `json:"sessions,omitempty"`
	// AppliedAt is when the daemon confirmed Applied.
	AppliedAt time.Time `json:"appliedAt,omitzero"`
	// Error is the reason why Wanted is not applied or, if it is Applied, not handed out. It is empty while the agent works on it.
	Error string `json:"error,omitempty"`
	// RetryAt is when the agent tries Wanted again after an error. It is zero if the daemon refuses Wanted.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Held is set while Wanted waits although the daemon would start with it or, if it is Applied, has started with it. It is nil
	// if Wanted does not wait.
	Held *Held `json:"held,omitempty"`
	// GresTypes are the kinds of GRES in Applied. It is nil for daemons without slurm.conf, and while Applied is empty.
	GresTypes []string `json:"gresTypes,omitzero"`
	// StateRelease is the release that wrote the state of slurmctld, or empty without a state.
	StateRelease string `json:"stateRelease,omitempty"`
	// Accounts is the status of the agent beside slurmdbd, or nil without accounts.
	Accounts *AccountsStatus `json:"accounts,omitempty"`
}

// Status returns the agent's status with the current number of sessions.
func (a *Agent) Status() Status {
	a.mu.Lock()
	out := newStatus(a.inForce, a.last)
	if a.last.err == nil {
		out.setError(a.handOut.err, a.handOut.retryAt)
	}
	a.mu.Unlock()
	if a.cfg.Accounts != nil {
		out.Accounts = a.cfg.Accounts.Status()
	}
	if a.cfg.StateRelease != nil {
		out.StateRelease = a.cfg.StateRelease()
	}
	if a.cfg.CountSessions == nil {
		return out
	}
	if sessions, err := a.cfg.CountSessions(); err != nil {
		a.cfg.Log.Error("the sessions of users are not known", "err", err)
	} else {
		out.Sessions = &sessions
	}
	return out
}

// Problem returns why Wanted is not applied, or not handed out: Error, or the message of Held. It is empty if nothing is wrong.
func (s Status) Problem() string {
	if s.Held != nil {
		return s.Held.Message
	}
	return s.Error
}

// maxText is the maximum number of bytes of an error in the status: Slurm quotes lines of any length.
const maxText = 8 << 10

// newStatus returns the status that follows from the agent's two records.
func newStatus(f inForce, last attempt) Status {
	out := Status{Wanted: last.brought}
	if last.revision != last.brought {
		out.Following = last.revision
	}
	if f.Given != nil {
		out.Given = f.Given.text(slurmconf.RevisionFile)
	} else if f.Files != nil {
		out.Applied, out.AppliedAt = f.Files.text(slurmconf.RevisionFile), f.Since
		out.Keys, out.JWTKeys, out.GresTypes = f.Files.keySet(), f.Files.jwtKeys(), f.Files.gresTypes()
	}
	out.setError(last.err, last.retryAt)
	return out
}

// setError sets Held, or Error and RetryAt, to an error if it is not nil.
func (s *Status) setError(err error, retryAt time.Time) {
	var held *HeldError
	switch {
	case errors.As(err, &held):
		s.Held = &Held{held.Reason, v1beta1.CutText(held.Message, maxText)}
	case err != nil:
		s.Error, s.RetryAt = v1beta1.CutText(err.Error(), maxText), retryAt
	}
}

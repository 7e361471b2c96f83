package inuse

import (
	"sync"
	"time"
)

// silenceDelay is how long a slurmctld that runs may not answer until it counts as one that hangs.
const silenceDelay = 7 * time.Minute

// Silence is how long a slurmctld that runs has not answered. NewSilence returns one. It is safe for concurrent use.
type Silence struct {
	runs func() bool
	now  func() time.Time

	mu    sync.Mutex
	since time.Time
}

// NewSilence returns the silence of a slurmctld. runs reports whether it runs.
func NewSilence(runs func() bool, now func() time.Time) *Silence {
	return &Silence{runs: runs, now: now}
}

// note notes whether slurmctld has answered.
func (s *Silence) note(answered bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case answered:
		s.since = time.Time{}
	case s.since.IsZero():
		s.since = s.now()
	}
}

// isShort reports whether a slurmctld that has not answered runs and may answer yet.
func (s *Silence) isShort() bool {
	if s == nil || !s.runs() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now().Sub(s.since).Abs() < silenceDelay
}

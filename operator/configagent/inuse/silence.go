package inuse

import (
	"sync"
	"time"
)

// silenceDelay is the time after which a running slurmctld without an answer counts as hung. A silence ends when slurmctld is not asked
// for silenceGap: a waiting revision is judged again within a minute, which may take twice askTimeout and a few pings.
const (
	silenceDelay = 7 * time.Minute
	silenceGap   = 3 * time.Minute
)

// Silence measures how long a running slurmctld has not answered. slurmctld is not asked between revisions, so an old unanswered
// question does not count days later. NewSilence returns one. It is safe for concurrent use.
type Silence struct {
	runs func() bool
	now  func() time.Time

	mu sync.Mutex
	// since is when the silence began, and noted when slurmctld was asked last.
	since, noted time.Time
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
	now := s.now()
	if answered || !s.runs() || now.Sub(s.noted).Abs() > silenceGap {
		s.since = now
	}
	s.noted = now
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

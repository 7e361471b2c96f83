package pacing

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

const (
	// newJobsShare is the largest fraction of time that polls of jobs outside their period may
	// take. If polls take long, new jobs wait for the next regular poll.
	newJobsShare = 0.2
	// evaluationDelay is the time after which the jobs are read again once a new job was found.
	// By then slurmctld has evaluated the job and set the reason why it waits.
	evaluationDelay = 3 * time.Second
)

// NewJobs decides, from successive readings of diag, whether new or updated jobs are worth a poll of
// the jobs before their period ends. The zero value has seen no reading.
type NewJobs struct {
	lastStats *slurm.Stats
	// rereadAt is when the jobs are read again, zero for never.
	rereadAt time.Time
	// pollPending is whether a change was found for which no poll was requested yet.
	pollPending bool
}

// LastPoll is the last poll of a resource.
type LastPoll struct {
	// Succeeded is false if it failed or there was none.
	Succeeded bool
	ReadAt    time.Time
	Took      time.Duration
}

// ShouldPoll reports whether the jobs are polled now.
func (l *NewJobs) ShouldPoll(now time.Time, stats *slurm.Stats, jobs LastPoll) bool {
	if l.lastStats != nil && hasJobChanges(l.lastStats, stats) {
		l.pollPending, l.rereadAt = true, now.Add(evaluationDelay)
	}
	l.lastStats = stats
	if !l.rereadAt.IsZero() && !now.Before(l.rereadAt) {
		l.pollPending, l.rereadAt = true, time.Time{}
	}
	if !l.pollPending || !jobs.MayPollEarly(now) {
		return false
	}
	l.pollPending = false
	return true
}

// MayPollEarly reports whether a resource may be polled again before its period ends.
func (p LastPoll) MayPollEarly(now time.Time) bool {
	return p.Succeeded && now.Sub(p.ReadAt) >= time.Duration(float64(p.Took)/newJobsShare)
}

// hasJobChanges reports whether jobs were submitted or updated between two readings of diag.
func hasJobChanges(old, now *slurm.Stats) bool {
	return now.JobsSubmitted != old.JobsSubmitted || now.JobUpdates() != old.JobUpdates()
}

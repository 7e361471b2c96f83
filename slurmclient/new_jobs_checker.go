package slurmclient

import (
	"context"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

const (
	// newJobsShare is the largest fraction of time that polls of jobs outside their period may
	// take. If polls take long, new jobs wait for the next regular poll.
	newJobsShare = 0.05
	// evaluationDelay is the time after which the jobs are read again once a new job was found.
	// By then slurmctld has evaluated the job and set the reason why it waits.
	evaluationDelay = 3 * time.Second
)

// newJobsChecker checks for new jobs between the polls. It reads diag, which costs slurmrestd a
// millisecond regardless of the length of the queue, and requests a poll of the jobs if jobs were
// submitted or updated.
type newJobsChecker struct {
	cache     *Cache
	stats     func(context.Context) (*slurm.Stats, error)
	jobs      *poller
	lastStats *slurm.Stats
	// rereadAt is when the jobs are read again, zero for never.
	rereadAt time.Time
	// pollPending is whether a change was found for which no poll was requested yet.
	pollPending bool
}

func (l *newJobsChecker) run(ctx context.Context) {
	interval := l.cache.cfg.NewJobsInterval
	for {
		timer := time.NewTimer(addJitter(interval))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		interval = l.cache.cfg.NewJobsInterval
		if err := l.checkForJobs(ctx); err != nil {
			// The polls report the failure; the checks continue at their pace.
			interval = l.cache.cfg.Period
		}
	}
}

// checkForJobs reads diag once and waits for a poll of the jobs if it is due. A panic becomes an
// error.
func (l *newJobsChecker) checkForJobs(ctx context.Context) (err error) {
	panicked := Guard("looking for new jobs", func() {
		var stats *slurm.Stats
		if stats, err = l.stats(ctx); err == nil && l.shouldPoll(l.cache.cfg.Now(), stats, l.cache.Snapshot().Jobs.Poll) {
			_ = l.jobs.requestPoll()(ctx) // the poll reports its own failure
		}
	})
	if panicked != nil {
		return panicked
	}
	return err
}

// shouldPoll decides whether the jobs are read now, from diag and the state of the last poll.
func (l *newJobsChecker) shouldPoll(now time.Time, stats *slurm.Stats, jobs Poll) bool {
	if l.lastStats != nil && hasJobChanges(l.lastStats, stats) {
		l.pollPending, l.rereadAt = true, now.Add(evaluationDelay)
	}
	l.lastStats = stats
	if !l.rereadAt.IsZero() && !now.Before(l.rereadAt) {
		l.pollPending, l.rereadAt = true, time.Time{}
	}
	if !l.pollPending || !jobs.Known || jobs.Err != nil {
		return false
	}
	if now.Sub(jobs.ReadAt) < time.Duration(float64(jobs.Took)/newJobsShare) {
		return false
	}
	l.pollPending = false
	return true
}

// hasJobChanges reports whether jobs were submitted or updated between two readings of diag.
func hasJobChanges(old, now *slurm.Stats) bool {
	return now.JobsSubmitted != old.JobsSubmitted || now.JobUpdates() != old.JobUpdates()
}

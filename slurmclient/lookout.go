package slurmclient

import (
	"context"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

const (
	// newJobsShare is the largest fraction of time that polls of jobs outside their period may
	// take. If polls take long, new jobs wait for the next regular poll.
	eagerShare = 0.05
	// evaluationDelay is the time after which the jobs are read again once a new job was found.
	// By then slurmctld has evaluated the job and set the reason why it waits.
	evaluatedAfter = 3 * time.Second
)

// newJobsChecker checks for new jobs between the polls. It reads diag, which costs slurmrestd a
// millisecond regardless of the length of the queue, and requests a poll of the jobs if jobs were
// submitted or updated.
type lookout struct {
	cache *Cache
	stats func(context.Context) (*slurm.Stats, error)
	jobs  *poller
	seen  *slurm.Stats
	// rereadAt is when the jobs are read again, zero for never.
	again time.Time
	// pollPending is whether a change was found for which no poll was requested yet.
	missed bool
}

func (l *lookout) run(ctx context.Context) {
	interval := l.cache.cfg.LookInterval
	for {
		timer := time.NewTimer(jitter(interval))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		interval = l.cache.cfg.LookInterval
		if err := l.lookForJobs(ctx); err != nil {
			// The polls report the failure; the checks continue at their pace.
			interval = l.cache.cfg.Period
		}
	}
}

// checkForJobs reads diag once and waits for a poll of the jobs if it is due. A panic becomes an
// error.
func (l *lookout) lookForJobs(ctx context.Context) (err error) {
	panicked := Guard("looking for new jobs", func() {
		var stats *slurm.Stats
		if stats, err = l.stats(ctx); err == nil && l.due(l.cache.cfg.Now(), stats, l.cache.Snapshot().Jobs.Poll) {
			_ = l.jobs.ask()(ctx) // the poll reports its own failure
		}
	})
	if panicked != nil {
		return panicked
	}
	return err
}

// shouldPoll decides whether the jobs are read now, from diag and the state of the last poll.
func (l *lookout) due(now time.Time, stats *slurm.Stats, jobs Poll) bool {
	if l.seen != nil && submitted(l.seen, stats) {
		l.missed, l.again = true, now.Add(evaluatedAfter)
	}
	l.seen = stats
	if !l.again.IsZero() && !now.Before(l.again) {
		l.missed, l.again = true, time.Time{}
	}
	if !l.missed || !jobs.Known || jobs.Err != nil {
		return false
	}
	if now.Sub(jobs.ReadAt) < time.Duration(float64(jobs.Took)/eagerShare) {
		return false
	}
	l.missed = false
	return true
}

// hasJobChanges reports whether jobs were submitted or updated between two readings of diag.
func submitted(old, now *slurm.Stats) bool {
	return now.JobsSubmitted != old.JobsSubmitted || jobUpdates(now) != jobUpdates(old)
}

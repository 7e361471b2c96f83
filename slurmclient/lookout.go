package slurmclient

import (
	"context"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

const (
	// eagerShare is the part of the time that polls of jobs outside their period may
	// take: where a poll lasts long, new jobs wait for the next one.
	eagerShare = 0.05
	// evaluatedAfter is how long after a new job the jobs are read once more: by then
	// slurmctld has looked at it and tells what it waits for.
	evaluatedAfter = 3 * time.Second
)

// lookout looks for new jobs between the polls. It asks diag, which costs slurmrestd a
// millisecond whatever the queue's length, whether jobs were submitted or updated, and has
// the jobs polled at once if so.
type lookout struct {
	cache *Cache
	stats func(context.Context) (*slurm.Stats, error)
	jobs  *poller
	seen  *slurm.Stats
	// again is when the jobs are to be read once more, zero for not at all.
	again time.Time
	// missed is whether there is news that no poll was made for yet.
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
			// The polls tell of it; looking goes on at their pace.
			interval = l.cache.cfg.Period
		}
	}
}

// lookForJobs asks diag once, and has the jobs polled if there is news. A panic is an error.
func (l *lookout) lookForJobs(ctx context.Context) (err error) {
	panicked := Guard("looking for new jobs", func() {
		var stats *slurm.Stats
		if stats, err = l.stats(ctx); err == nil && l.due(l.cache.cfg.Now(), stats, l.cache.Snapshot().Jobs.Poll) {
			_ = l.jobs.ask()(ctx) // its failure is the poll's, and is told there
		}
	})
	if panicked != nil {
		return panicked
	}
	return err
}

// due decides whether the jobs are read now, by what diag says and how the last poll went.
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

// submitted reports whether jobs were submitted or changed by people between two looks.
func submitted(old, now *slurm.Stats) bool {
	return now.JobsSubmitted != old.JobsSubmitted || jobUpdates(now) != jobUpdates(old)
}

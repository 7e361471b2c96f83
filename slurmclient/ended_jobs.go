package slurmclient

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/internal/wire"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// EndedJobs lists the runs of jobs that ended between from and to, inclusive, as slurmdbd recorded them. It makes one request for each
// state in which jobs end. If an answer is too large, it halves the time range and requests each half.
func (c *Client) EndedJobs(ctx context.Context, from, to slurm.Time) (List[slurm.EndedJob], error) {
	var out List[slurm.EndedJob]
	for _, state := range slurm.EndStates() {
		l, err := c.endedJobsIn(ctx, state, from, to)
		if err != nil {
			return List[slurm.EndedJob]{}, err
		}
		out.Items = append(out.Items, l.Items...)
		out.Server = l.Server
	}
	return out, nil
}

func (c *Client) endedJobsIn(ctx context.Context, state string, from, to slurm.Time) (List[slurm.EndedJob], error) {
	l, err := requestList(ctx, c, call[[]slurm.EndedJob]{op: "listing ended jobs", name: "ended jobs", key: "jobs", slurmdbd: true,
		send: func(ctx context.Context, b wire.Binding) (*http.Response, error) {
			return b.EndedJobs(ctx, state, from, to)
		},
		decode: wire.Binding.DecodeEndedJobs})
	if !errors.Is(err, errTooLarge) || from >= to {
		return l, err
	}
	middle := from + (to-from)/2
	l, err = c.endedJobsIn(ctx, state, from, middle)
	if err != nil {
		return l, err
	}
	rest, err := c.endedJobsIn(ctx, state, middle+1, to)
	rest.Items = append(l.Items, rest.Items...)
	return rest, err
}

const (
	// endRecordDelay is how late slurmdbd may record the end of a job, because slurmctld queues records that it cannot send, and clocks
	// differ.
	endRecordDelay = 10 * time.Minute
	// clockDifference is how far slurmctld's clock may be ahead.
	clockDifference = 5 * time.Minute
)

// endedJobsReader returns a function that reads the jobs that have ended since a while before its last success.
func (c *Cache) endedJobsReader() func(context.Context) (reading, error) {
	var last time.Time
	return func(ctx context.Context) (reading, error) {
		now := c.cfg.Now()
		since := now
		if !last.IsZero() && last.Before(now) {
			since = last
		}
		l, err := c.client.EndedJobs(ctx, slurm.At(since.Add(-endRecordDelay)), slurm.At(now.Add(clockDifference)))
		if CodeOf(err) == CodeNoAccounting {
			got := changedReading(c, nil, func(s *Snapshot) *Reading[[]slurm.EndedJob] { return &s.EndedJobs }, 0, slurm.Server{})
			got.absent = true
			return got, nil
		}
		if err != nil {
			return reading{}, err
		}
		last = now
		return changedReading(c, l.Items, func(s *Snapshot) *Reading[[]slurm.EndedJob] { return &s.EndedJobs }, l.ServerTime, l.Server), nil
	}
}

package slurmclient

import (
	"context"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// JobsReader is how a Cache reads jobs.
type JobsReader string

// The readers of jobs. slurmrestd's cost of a list grows with the square of the
// queue; the delta reader's with its length and with what changes.
const (
	// ReadList asks for the list of all jobs, gated by update_time.
	ReadList JobsReader = "list"
	// ReadDelta asks for the states of known jobs, for new ids, and for the details
	// of what is new, changed, or due.
	ReadDelta JobsReader = "delta"
	// ReadAuto begins with either by the size of the queue, measures, and takes the
	// cheaper one.
	ReadAuto JobsReader = "auto"
)

// jobsRead is what one poll of the jobs brought: nil jobs mean that nothing changed.
type jobsRead struct {
	jobs       []*slurm.Job
	changed    bool
	serverTime slurm.Time
	server     slurm.Server
	// rare: this poll did what the next ones need not do.
	rare bool
	// oldest is when the oldest fact in the jobs was last known to be right; zero means
	// when the poll began.
	oldest time.Time
	// by is how the poll read, ReadList also where a delta reader asked for the list.
	by JobsReader
	// round is after how many polls every record has been read again, 0 for each poll.
	round int
}

// jobsReader decides between the two readers and turns what they bring into a
// reading.
func (c *Cache) jobsReader() func(context.Context) (reading, error) {
	list := &listReader{cache: c}
	delta := &deltaReader{client: c.client, now: c.cfg.Now, progress: func(done, total int) { c.cfg.Progress(Jobs, done, total) }}
	choice := chooser{mode: c.cfg.JobsReader}
	return func(ctx context.Context) (reading, error) {
		old := c.Snapshot().Jobs
		if choice.undecided() {
			if n, err := queueLength(ctx, c.client); err == nil {
				choice.begin(n)
			}
		}
		use := choice.next(len(old.Value))
		begin := c.cfg.Now()
		var got jobsRead
		var err error
		if use == ReadDelta {
			list.gate = gate{}
			got, err = delta.read(ctx, old.Value, old.AsOf())
		} else {
			delta.forget()
			got, err = list.read(ctx, old.Value)
		}
		if err != nil {
			if choice.listing(use) {
				if n, lenErr := queueLength(ctx, c.client); lenErr == nil {
					choice.failed(n)
				}
			}
			return reading{}, err
		}
		if !got.rare {
			choice.measured(use, len(old.Value), c.cfg.Now().Sub(begin))
		}
		out := reading{serverTime: got.serverTime, server: got.server, rare: got.rare, oldest: got.oldest, round: got.round, reader: got.by}
		if got.changed || !old.Known {
			out.set = func(s *Snapshot) { s.Jobs.Value = got.jobs }
		}
		return out, nil
	}
}

// queueLength asks diag, which is cheap, how many jobs and array tasks there are.
func queueLength(ctx context.Context, c *Client) (int, error) {
	stats, err := c.Stats(ctx)
	if err != nil {
		return 0, err
	}
	return int(stats.JobsPending + stats.JobsRunning), nil
}

const (
	// longQueue is where the first reading is a delta one: a list of that many
	// records costs slurmrestd some seconds and a gigabyte.
	longQueue = 5000
	// cheapList is what a list may take without the other reader being tried.
	cheapList = 500 * time.Millisecond
)

// chooser picks the cheaper reader by what both have cost. Costs are weighted
// means over the polls, so a list that is mostly unchanged counts as cheap.
type chooser struct {
	mode        JobsReader
	now         JobsReader
	list, delta cost
}

// cost is a weighted mean of how long polls took, at a number of jobs.
type cost struct {
	mean time.Duration
	jobs int
	n    int
}

func (k *cost) add(jobs int, took time.Duration) {
	if k.n == 0 {
		k.mean = took
	} else {
		k.mean += (took - k.mean) / 4
	}
	k.jobs = jobs
	k.n++
}

// at estimates the cost at another number of jobs: a list's grows with the square.
func (k *cost) at(jobs, power int) time.Duration {
	if k.jobs == 0 {
		return k.mean
	}
	f := float64(jobs) / float64(k.jobs)
	est := float64(k.mean)
	for range power {
		est *= f
	}
	return time.Duration(est)
}

func (k *chooser) undecided() bool { return k.mode == ReadAuto && k.now == "" }

func (k *chooser) begin(queue int) {
	k.now = ReadList
	if queue > longQueue {
		k.now = ReadDelta
	}
}

// next returns the reader for a poll of about so many jobs.
func (k *chooser) next(jobs int) JobsReader {
	if k.mode != ReadAuto {
		return k.mode
	}
	switch {
	case k.now == "":
		return ReadList
	case k.now == ReadList && k.list.n > 0:
		if k.list.at(jobs, 2) > cheapList && (k.delta.n == 0 || k.delta.at(jobs, 1) < k.list.at(jobs, 2)/2) {
			k.now = ReadDelta
		}
	case k.now == ReadDelta && k.delta.n > 0:
		small := jobs < longQueue/4
		if k.list.n > 0 {
			small = k.list.at(jobs, 2) < max(cheapList/2, k.delta.at(jobs, 1)/2)
		}
		if small {
			k.now = ReadList
		}
	}
	return k.now
}

func (k *chooser) measured(r JobsReader, jobs int, took time.Duration) {
	if r == ReadDelta {
		k.delta.add(jobs, took)
		return
	}
	k.list.add(jobs, took)
	if k.now == "" {
		k.now = ReadList
	}
}

// failed notes that a list failed while there are so many jobs. A list that is too
// long to be answered would fail for ever: the other reader takes over.
func (k *chooser) failed(queue int) {
	if queue > longQueue {
		k.now = ReadDelta
	}
}

// listing reports whether the list was read by choice.
func (k *chooser) listing(r JobsReader) bool { return k.mode == ReadAuto && r == ReadList }

// listReader reads the whole list behind its gate.
type listReader struct {
	cache *Cache
	gate  gate
}

func (l *listReader) read(ctx context.Context, old []*slurm.Job) (jobsRead, error) {
	now := l.cache.cfg.Now()
	since := l.gate.next(now)
	m := merger[slurm.Job, uint32]{old: old, same: (*slurm.Job).Same,
		key: func(j *slurm.Job) uint32 { return j.ID }, items: make([]*slurm.Job, 0, len(old)+16)}
	out, err := jobsCall(since).run(ctx, l.cache.client, m.add)
	if IsUnchanged(err) {
		return jobsRead{by: ReadList}, nil
	}
	if err != nil {
		return jobsRead{}, err
	}
	l.gate.passed(now, since, out.LastUpdate)
	items, changed := m.done()
	return jobsRead{jobs: items, changed: changed, serverTime: out.LastUpdate, server: out.Server, by: ReadList}, nil
}

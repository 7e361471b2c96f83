package slurmclient

import (
	"context"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// JobsReader is a way in which a Cache reads jobs.
type JobsReader string

// The readers of jobs. The cost of a list to slurmrestd grows with the square of the length of the
// queue. The cost of the delta reader grows with the length of the queue and the number of changes.
const (
	// ReadList requests the list of all jobs, with update_time so that an unchanged list is not
	// sent again.
	ReadList JobsReader = "list"
	// ReadDelta requests the states of known jobs, the states of new ids, and the records of
	// jobs that are new, changed, or due to be read again.
	ReadDelta JobsReader = "delta"
	// ReadAuto chooses the first reader by the length of the queue, measures both, and uses the
	// cheaper one.
	ReadAuto JobsReader = "auto"
)

// jobsReading is the result of one poll of the jobs. changed is false if the jobs did not change.
type jobsRead struct {
	jobs       []*slurm.Job
	changed    bool
	serverTime slurm.Time
	server     slurm.Server
	// exceptional means that this poll did work that the next ones need not repeat.
	rare bool
	// oldest is when the oldest fact in the jobs was last known to be right. Zero means when the
	// poll began.
	oldest time.Time
	// reader is how the poll read jobs: ReadList also if a delta reader requested the list.
	by JobsReader
	// round is the number of polls after which every record has been read again. 0 means that
	// each poll reads every record.
	round int
}

// jobsReader returns a function that chooses between the two readers and turns their result into a
// reading.
func (c *Cache) jobsReader() func(context.Context) (reading, error) {
	list := &listReader{cache: c}
	delta := &deltaReader{client: c.client, now: c.cfg.Now,
		progress: func(done, total int) { c.cfg.Progress(Jobs, done, total) }}
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
		out := reading{serverTime: got.serverTime, server: got.server,
			rare: got.rare, oldest: got.oldest, round: got.round, reader: got.by}
		if got.changed || !old.Known {
			out.set = func(s *Snapshot) { s.Jobs.Value = got.jobs }
		}
		return out, nil
	}
}

// queueLength returns how many jobs and array tasks are pending or running, from diag, which is
// cheap to read.
func queueLength(ctx context.Context, c *Client) (int, error) {
	stats, err := c.Stats(ctx)
	if err != nil {
		return 0, err
	}
	return int(stats.JobsPending + stats.JobsRunning), nil
}

const (
	// longQueue is the length of the queue above which ReadAuto begins with the delta reader: a
	// list of that many records costs slurmrestd several seconds and a gigabyte of memory.
	longQueue = 5000
	// cheapList is the duration of a list up to which ReadAuto does not try the delta reader.
	cheapList = 500 * time.Millisecond
)

// readerChooser chooses the cheaper reader by the measured cost of both. Costs are weighted means over
// the polls, so a list that is mostly unchanged counts as cheap.
type chooser struct {
	mode        JobsReader
	now         JobsReader
	list, delta cost
}

// pollCost is a weighted mean of the duration of polls, and the number of jobs in the last one.
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

// estimate extrapolates the cost to another number of jobs. The cost grows with the given power of
// the number: 2 for a list, 1 for the delta reader.
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

// choose returns the reader for a poll of about this many jobs.
func (k *chooser) next(jobs int) JobsReader {
	if k.mode != ReadAuto {
		return k.mode
	}
	switch {
	case k.now == "":
		return ReadList
	case k.now == ReadList && k.list.n > 0:
		list := k.list.at(jobs, 2)
		if list > cheapList && (k.delta.n == 0 || k.delta.at(jobs, 1) < list/2) {
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

// recordListFailure records that a list failed at this length of the queue. slurmrestd may never be
// able to answer with a list that is too long, so the delta reader takes over for a long queue.
func (k *chooser) failed(queue int) {
	if queue > longQueue {
		k.now = ReadDelta
	}
}

// choseList reports whether the list was read because the chooser chose it.
func (k *chooser) listing(r JobsReader) bool { return k.mode == ReadAuto && r == ReadList }

// listReader reads the list of all jobs, with update_time.
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
	return jobsRead{jobs: items, changed: changed,
		serverTime: out.LastUpdate, server: out.Server, by: ReadList}, nil
}

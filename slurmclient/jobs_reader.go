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
type jobsReading struct {
	jobs       []*slurm.Job
	changed    bool
	serverTime slurm.Time
	server     slurm.Server
	// exceptional means that this poll did work that the next ones need not repeat.
	exceptional bool
	// oldest is when the oldest fact in the jobs was last known to be right. Zero means when the
	// poll began.
	oldest time.Time
	// reader is how the poll read jobs: ReadList also if a delta reader requested the list.
	reader JobsReader
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
	choice := readerChooser{mode: c.cfg.JobsReader}
	return func(ctx context.Context) (reading, error) {
		old := c.Snapshot().Jobs
		if choice.isUndecided() {
			if n, err := queueLength(ctx, c.client); err == nil {
				choice.start(n)
			}
		}
		use := choice.choose(len(old.Value))
		begin := c.cfg.Now()
		var got jobsReading
		var err error
		if use == ReadDelta {
			list.gate = gate{}
			got, err = delta.read(ctx, old.Value, old.AsOf())
		} else {
			delta.reset()
			got, err = list.read(ctx, old.Value)
		}
		if err != nil {
			if choice.choseList(use) {
				if n, lenErr := queueLength(ctx, c.client); lenErr == nil {
					choice.recordListFailure(n)
				}
			}
			return reading{}, err
		}
		if !got.exceptional {
			choice.recordCost(use, len(old.Value), c.cfg.Now().Sub(begin))
		}
		out := reading{serverTime: got.serverTime, server: got.server,
			exceptional: got.exceptional, oldest: got.oldest, round: got.round, reader: got.reader}
		if got.changed || !old.Known {
			out.update = func(s *Snapshot) { s.Jobs.Value = got.jobs }
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
type readerChooser struct {
	mode        JobsReader
	current     JobsReader
	list, delta pollCost
}

// pollCost is a weighted mean of the duration of polls, and the number of jobs in the last one.
type pollCost struct {
	mean    time.Duration
	jobs    int
	samples int
}

func (k *pollCost) add(jobs int, took time.Duration) {
	if k.samples == 0 {
		k.mean = took
	} else {
		k.mean += (took - k.mean) / 4
	}
	k.jobs = jobs
	k.samples++
}

// estimate extrapolates the cost to another number of jobs. The cost grows with the given power of
// the number: 2 for a list, 1 for the delta reader.
func (k *pollCost) estimate(jobs, power int) time.Duration {
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

func (k *readerChooser) isUndecided() bool { return k.mode == ReadAuto && k.current == "" }

func (k *readerChooser) start(queue int) {
	k.current = ReadList
	if queue > longQueue {
		k.current = ReadDelta
	}
}

// choose returns the reader for a poll of about this many jobs.
func (k *readerChooser) choose(jobs int) JobsReader {
	if k.mode != ReadAuto {
		return k.mode
	}
	switch {
	case k.current == "":
		return ReadList
	case k.current == ReadList && k.list.samples > 0:
		list := k.list.estimate(jobs, 2)
		if list > cheapList && (k.delta.samples == 0 || k.delta.estimate(jobs, 1) < list/2) {
			k.current = ReadDelta
		}
	case k.current == ReadDelta && k.delta.samples > 0:
		small := jobs < longQueue/4
		if k.list.samples > 0 {
			small = k.list.estimate(jobs, 2) < max(cheapList/2, k.delta.estimate(jobs, 1)/2)
		}
		if small {
			k.current = ReadList
		}
	}
	return k.current
}

func (k *readerChooser) recordCost(r JobsReader, jobs int, took time.Duration) {
	if r == ReadDelta {
		k.delta.add(jobs, took)
		return
	}
	k.list.add(jobs, took)
	if k.current == "" {
		k.current = ReadList
	}
}

// recordListFailure records that a list failed at this length of the queue. slurmrestd may never be
// able to answer with a list that is too long, so the delta reader takes over for a long queue.
func (k *readerChooser) recordListFailure(queue int) {
	if queue > longQueue {
		k.current = ReadDelta
	}
}

// choseList reports whether the list was read because the chooser chose it.
func (k *readerChooser) choseList(r JobsReader) bool { return k.mode == ReadAuto && r == ReadList }

// listReader reads the list of all jobs, with update_time.
type listReader struct {
	cache *Cache
	gate  gate
}

func (l *listReader) read(ctx context.Context, old []*slurm.Job) (jobsReading, error) {
	now := l.cache.cfg.Now()
	since := l.gate.updateTime(now)
	m := merger[slurm.Job, uint32]{old: old, same: (*slurm.Job).Same,
		key: func(j *slurm.Job) uint32 { return j.ID }, items: make([]*slurm.Job, 0, len(old)+16)}
	out, err := jobsCall(since).run(ctx, l.cache.client, m.addCopy)
	if IsUnchanged(err) {
		return jobsReading{reader: ReadList}, nil
	}
	if err != nil {
		return jobsReading{}, err
	}
	l.gate.recordAnswer(now, since, out.LastUpdate)
	items, changed := m.merge()
	return jobsReading{jobs: items, changed: changed,
		serverTime: out.LastUpdate, server: out.Server, reader: ReadList}, nil
}

package slurmclient

import (
	"context"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/internal/delta"
	"github.com/slurmtide/slurmtide/slurmclient/internal/pacing"
	"github.com/slurmtide/slurmtide/slurmclient/internal/records"
	"github.com/slurmtide/slurmtide/slurmclient/internal/transport"
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

// jobsReader returns a function that chooses between the two readers.
func (c *Cache) jobsReader() func(context.Context) (reading, error) {
	list := &listReader{cache: c}
	byDelta := delta.NewReader(deltaSource{c.client}, c.cfg.Now,
		func(done, total int) { c.cfg.Progress(Jobs, done, total) })
	choice := readerChooser{mode: c.cfg.JobsReader}
	server, cluster, hidden := uint64(0), "", &hiddenJobs{client: c.client, now: c.cfg.Now}
	return func(ctx context.Context) (reading, error) {
		old := c.Snapshot().Jobs
		if now := c.client.serverNumber(); now != server {
			server, hidden.due = now, time.Time{}
			byDelta.Reset()
		}
		if now := c.client.clusterName(); now != cluster {
			if cluster != "" {
				byDelta.Distrust()
			}
			cluster = now
		}
		if choice.isUndecided() {
			if n, err := queueLength(ctx, c.client); err == nil {
				choice.start(n)
			}
		}
		use := choice.choose(len(old.Value))
		begin := c.cfg.Now()
		var got reading
		var err error
		if use == ReadDelta {
			list.gate = pacing.Gate{}
			got, err = readDelta(ctx, byDelta, old)
		} else {
			byDelta.Reset()
			got, err = list.read(ctx, old)
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
			choice.recordCost(use, len(old.Value), c.cfg.Now().Sub(begin)-got.catchUp)
		}
		read := Snapshot{Jobs: old}
		if got.update != nil {
			got.update(&read)
		}
		if err := hidden.checkComplete(ctx, read.Jobs.Value); err != nil {
			list.gate = pacing.Gate{} // nothing of it is stored
			byDelta.Reset()
			return reading{}, err
		}
		return got, nil
	}
}

// readDelta polls with the delta reader.
func readDelta(ctx context.Context, d *delta.Reader, old Reading[[]*slurm.Job]) (reading, error) {
	got, err := d.Read(ctx, old.Value, old.AsOf())
	if err != nil {
		return reading{}, err
	}
	out := reading{serverTime: got.ServerTime, exceptional: got.Exceptional, oldest: got.Oldest, round: got.Round,
		catchUp: got.DoubtTime,
		reader:  ReadDelta, update: jobsUpdate(old, got.Jobs, got.Changed)}
	if got.FromList {
		out.reader = ReadList
	}
	return out, nil
}

// jobsUpdate returns the update of a reading of jobs, nil if the jobs are the known ones.
func jobsUpdate(old Reading[[]*slurm.Job], jobs []*slurm.Job, changed bool) func(*Snapshot) {
	if !changed && old.Known {
		return nil
	}
	return func(s *Snapshot) { s.Jobs.Value = jobs }
}

// deltaSource lets the delta reader use a client.
type deltaSource struct{ *Client }

func (d deltaSource) Job(ctx context.Context, id uint32) ([]*slurm.Job, error) {
	jobs, err := d.Client.Job(ctx, id)
	if IsNotFound(err) {
		return nil, nil
	}
	return jobs, err
}

func (d deltaSource) JobStates(ctx context.Context, ids []string) ([]slurm.JobStatus, error) {
	return d.jobStatesOf(ctx, ids)
}

func (d deltaSource) UnknownJobStates(ctx context.Context, ids []string) ([]slurm.JobStatus, error) {
	return d.jobStatesWithin(ctx, max(d.cfg.Timeout, allStatesTimeout), ids)
}

func (d deltaSource) FittingIDs(ids []string) int {
	return transport.CountFittingIDs(ids, d.maxQueryBytes)
}

func (d deltaSource) NextJobID(ctx context.Context) uint32 {
	conf, err := d.Conf(ctx)
	if err != nil {
		return 0 // as before v0.0.45; other errors appear at the next request, too
	}
	return conf.NextJobID
}

func (d deltaSource) AllJobStates(ctx context.Context) ([]slurm.JobStatus, error) {
	return d.allJobStates(ctx)
}

func (d deltaSource) EachJob(ctx context.Context, yield func(*slurm.Job) error) error {
	_, err := jobsCall(0).run(ctx, d.Client, yield)
	return err
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
	gate  pacing.Gate
}

func (l *listReader) read(ctx context.Context, old Reading[[]*slurm.Job]) (reading, error) {
	now, server := l.cache.cfg.Now(), l.cache.client.serverNumber()
	since := l.gate.UpdateTime(now, server)
	m := records.NewJobMerger(old.Value)
	out, err := jobsCall(since).run(ctx, l.cache.client, m.AddCopy)
	if IsUnchanged(err) {
		return reading{reader: ReadList, update: jobsUpdate(old, nil, false)}, nil
	}
	if err != nil {
		return reading{}, err
	}
	l.gate.RecordAnswer(now, server, since, out.LastUpdate)
	items, changed := m.Merge()
	return reading{update: jobsUpdate(old, items, changed),
		serverTime: out.LastUpdate, server: out.Server, reader: ReadList}, nil
}

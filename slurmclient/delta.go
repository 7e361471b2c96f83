package slurmclient

import (
	"context"
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// deltaReader reads jobs without asking for the list of them at each poll:
//
//  1. the states of all known jobs, by id and in chunks, which costs the server
//     about 10 µs a job (where the list costs over a millisecond);
//  2. diag, for the server's time, for signs that slurmctld restarted, and for the number
//     of tasks submitted;
//  3. the states of a window of ids behind the newest known one, for new jobs, or their
//     records, one by one, where large arrays were submitted;
//  4. the full records of jobs that are new or whose state differs, of arrays
//     whose tasks moved, and of pending jobs in doubt: their record may have changed
//     without a change of state, since a person updated some job (diag counts these
//     requests), a job that they depend on changed, or a limit that holds them back
//     may have room. A sixth of the jobs, and at least 1,000 records, are read for
//     that in one poll, so doubt ends after seven polls at the most; until then the
//     reading is as old as its oldest doubt (jobsRead.oldest). Where another job's end is
//     the reason, slurmctld may tell of it later only: see waking;
//  5. a few more records in turn, each at least every 128 polls or so: what nobody
//     waits for, such as an expected start, and, when slurmctld restarts, fields of
//     finished jobs. An array with many split tasks has its turn when all states are
//     read.
//
// At the start and when something does not add up (see suspicious) it reads all jobs
// whatever their id, by their states or by the list (see readFull), and so finds what the
// window cannot: ids that started again from the first after slurmctld lost its state, or
// that wrapped.
//
// It keeps little itself: the jobs it compares with are those of the last
// snapshot. What it publishes is complete, or an error.
type deltaReader struct {
	client *Client
	now    func() time.Time
	// progress is told how many of the records that a poll reads have been read.
	progress func(done, total int)

	// cursor is the newest job id; ids beyond it belong to new jobs.
	cursor uint32
	window uint32
	// due is the id behind which the turn of jobs that are read again goes on.
	due   uint32
	stats *slurm.Stats
	// polls counts polls since all states were read, wasFull is whether the last one did.
	polls   int
	wasFull bool
	// otherWay is whether the last full reading brought nothing, see readFull.
	otherWay bool
	// old is how many records slurmctld may have changed at its start that have not
	// been read since.
	old int
	// doubts are the jobs to be read although their state did not change; last is when
	// the last good poll began.
	doubts doubts
	last   time.Time
	// waking are the jobs that another one may have let go, of which slurmctld has not told yet.
	waking waking
}

const (
	firstWindow = 256
	maxWindow   = 2048
	// mostTaken bounds the ids that a poll looks at behind the newest known one where it
	// finds none: they cost slurmrestd some 10 µs each.
	mostTaken = 1 << 16
	// maxJobID is Slurm's largest job id (MAX_JOB_ID in slurm.h).
	maxJobID = 0x03ff_ffff
	// fullEvery is after how many polls all states are read without a suspicion.
	fullEvery = 256
	// duePart is the part of the jobs that is read again in each poll, hurryPart
	// that after slurmctld restarted, dueLeast how many at least.
	duePart   = 128
	hurryPart = 16
	dueLeast  = 64
	// mostSplit is how many records an array's tasks may have for the array to be
	// read again in its turn; others are when all states are read.
	mostSplit = 100
)

// forget makes the next poll start from nothing but the snapshot, as after
// another reader was at work.
func (d *deltaReader) forget() {
	*d = deltaReader{client: d.client, now: d.now, progress: d.progress, otherWay: d.otherWay}
}

// read polls. old are the jobs of the last snapshot, which are right as of a time.
func (d *deltaReader) read(ctx context.Context, old []*slurm.Job, asOf time.Time) (jobsRead, error) {
	begin := d.now()
	p := newDeltaPoll(old)
	full, by := d.stats == nil || d.polls >= fullEvery, ReadDelta
	if !full {
		if err := d.readKnown(ctx, p); err != nil {
			return jobsRead{}, err
		}
	}
	// Just before the window, so that a large array is counted when its id is in there.
	stats, err := d.client.Stats(ctx)
	if err != nil {
		return jobsRead{}, err
	}
	didRestart := d.stats != nil && restarted(d.stats, stats)
	full = full || didRestart
	if !full {
		found, err := d.readNew(ctx, p, stats)
		if err != nil {
			return jobsRead{}, err
		}
		full = !found || p.suspicious(d.stats, stats)
	}
	if full {
		p = newDeltaPoll(old)
		if by, err = d.readFull(ctx, p, stats); err != nil {
			return jobsRead{}, err
		}
		p.bases()
	}
	part := duePart
	if didRestart || d.old > 0 {
		part = hurryPart
	}
	due := p.due(d.due, part)
	if err := d.readDetails(ctx, p, slices.Concat(d.doubt(p, stats, asOf), p.unevaluated(stats.At)), due); err != nil {
		return jobsRead{}, err
	}
	if !full {
		if err := d.readMissed(ctx, p, stats); err != nil {
			return jobsRead{}, err
		}
	}
	d.old = max(0, d.old-len(due))
	if didRestart {
		d.old = len(old)
	}
	// A full reading that follows another one is no exception any more.
	rare := full && !d.wasFull
	d.commit(p, stats, due, full)
	d.doubts.raiseAlike(p, begin)
	d.doubts.settle(p)
	d.last = begin
	jobs, changed := p.result()
	return jobsRead{jobs: jobs, changed: changed, serverTime: stats.At, rare: rare,
		oldest: d.doubts.oldest(begin), round: p.round(), by: by}, nil
}

// doubt puts jobs in doubt by what the poll has seen so far, and lists those that it
// reads again. Doubts that a failed poll raised stay.
func (d *deltaReader) doubt(p *deltaPoll, stats *slurm.Stats, asOf time.Time) []uint32 {
	if d.doubts == nil {
		d.doubts = doubts{}
	}
	if d.stats == nil {
		// Nobody counted the updates since another reader was at work.
		d.doubts.raiseAll(p, asOf)
		return d.doubts.turn(p)
	}
	if jobUpdates(stats) != jobUpdates(d.stats) {
		d.doubts.raiseAll(p, d.last)
	}
	if d.waking == nil {
		d.waking = waking{}
	}
	d.waking.settle(p, d.now())
	d.waking.note(p, dependents(p), d.now())
	for id := range d.waking {
		d.doubts.raise(id, d.last)
	}
	return d.doubts.turn(p)
}

// commit moves on to the next poll; nothing of the reader changes before a poll
// has succeeded as a whole.
func (d *deltaReader) commit(p *deltaPoll, stats *slurm.Stats, due []uint32, full bool) {
	d.stats = stats
	d.polls++
	d.wasFull = full
	if full {
		d.polls, d.window = 0, firstWindow
	}
	d.cursor = p.newest(d.cursor, full)
	if len(due) > 0 {
		d.due = due[len(due)-1]
	} else {
		d.due = 0
	}
}

// readKnown reads the states of the jobs we know and marks what became of them.
func (d *deltaReader) readKnown(ctx context.Context, p *deltaPoll) error {
	if ids := p.stateIDs(); len(ids) > 0 {
		rows, err := d.client.jobStates(ctx, ids)
		if err != nil {
			return err
		}
		p.see(rows)
	}
	p.compare()
	return nil
}

// readDetails reads the records that the poll asks for, those in doubt and those due.
func (d *deltaReader) readDetails(ctx context.Context, p *deltaPoll, doubtful, due []uint32) error {
	wanted := p.wanted()
	done, total := 0, len(wanted)+len(doubtful)+len(due)
	for _, ids := range [][]uint32{wanted, doubtful, due} {
		for _, id := range ids {
			d.progress(done, total)
			done++
			if err := d.readRecord(ctx, p, id); err != nil {
				return err
			}
			// An array's id brings the records of all its split tasks, so it is read as
			// soon as the first new one of them shows.
			if array, ok := p.shrunk(id); ok {
				if err := d.readRecord(ctx, p, array); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (d *deltaReader) readRecord(ctx context.Context, p *deltaPoll, id uint32) error {
	if p.has(id) {
		return nil
	}
	jobs, err := d.client.Job(ctx, id)
	switch {
	case IsNotFound(err):
		p.gone(id)
	case err != nil:
		return err
	default:
		p.put(id, jobs)
	}
	return nil
}

// restarted reports whether slurmctld reset its counters, or its clock went
// back. It also does so at midnight and on request, where a full reading is not
// needed but does no harm. A slurmctld that has just started tells no beginning.
func restarted(old, now *slurm.Stats) bool {
	return old.Since.IsSet() && now.Since != old.Since || now.At < old.At || now.JobsSubmitted < old.JobsSubmitted
}

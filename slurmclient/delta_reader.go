package slurmclient

import (
	"context"
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// deltaReader reads jobs without requesting the list of all jobs in every poll. A poll reads:
//
//  1. The states of all known jobs, by id and in chunks. This costs the server about 10 µs per job;
//     the list costs over a millisecond per job.
//  2. diag, for the server's time, for signs that slurmctld restarted, and for the number of tasks
//     submitted.
//  3. The states of a window of ids above the newest known id, to find new jobs. Where large arrays
//     were submitted, it reads the records of these ids one by one instead.
//  4. The full records of jobs that are new or whose state changed, of arrays whose tasks changed,
//     and of pending jobs in doubt. A job is in doubt when its record may have changed without a
//     change of state: somebody updated some job (diag counts these requests), a job that it
//     depends on changed, or a limit that holds it back may have room. One poll reads a sixth of
//     the jobs, and at least 1,000 records, for that reason, so a doubt lasts seven polls at most.
//     Until then the reading is as old as its oldest doubt (jobsReading.oldest). slurmctld may
//     report only later that the end of a job released another one: see releasedJobs.
//  5. A few more records in turn, each at least every 128 polls or so. These contain changes that
//     are not urgent, such as an expected start time and, after a restart of slurmctld, fields of
//     finished jobs. An array with many split tasks is read only when all states are read.
//
// At the start and when the answers are inconsistent (see isSuspicious), the reader reads all jobs
// regardless of their ids, by their states or as a list (see readFull). This finds what the window
// misses: ids that started over after slurmctld lost its state, or that wrapped around.
//
// The reader compares with the jobs of the last snapshot and keeps little state of its own. It
// returns either all jobs or an error.
type deltaReader struct {
	client *Client
	now    func() time.Time
	// progress is called with the number of records that a poll has read and will read.
	progress func(done, total int)

	// cursor is the newest job id; greater ids belong to new jobs.
	cursor     uint32
	windowSize uint32
	// lastDue is the last id that was read in turn; the next poll continues after it.
	lastDue uint32
	stats   *slurm.Stats
	// pollsSinceFull counts the polls since everything was read. wasFull is whether the last
	// poll read everything.
	pollsSinceFull int
	wasFull        bool
	// useAlternative is whether the last full reading failed; see readFull.
	useAlternative bool
	// outdated is the number of records that slurmctld may have changed when it started and
	// that have not been read since.
	outdated int
	// doubts are the jobs to read although their state did not change. lastPoll is when the
	// last good poll began.
	doubts   doubts
	lastPoll time.Time
	// released are the jobs that another job may have released and that slurmctld has not
	// updated yet.
	released releasedJobs
}

const (
	minWindow = 256
	maxWindow = 2048
	// maxTakenIDs limits how many ids above the newest known one a poll checks where it finds
	// no job. Each costs slurmrestd about 10 µs.
	maxTakenIDs = 1 << 16
	// maxJobID is Slurm's largest job id (MAX_JOB_ID in slurm.h).
	maxJobID = 0x03ff_ffff
	// fullEvery is the number of polls after which everything is read without a suspicion.
	fullEvery = 256
	// Each poll reads 1/dueDivisor of the jobs again, 1/restartDueDivisor after slurmctld
	// restarted, and at least minDue jobs.
	dueDivisor        = 128
	restartDueDivisor = 16
	minDue            = 64
	// maxSplitTasks is how many split tasks an array may have to be read again in turn. Larger
	// arrays are read again when all states are read.
	maxSplitTasks = 100
)

// reset makes the next poll start from the snapshot only, because another reader read in between.
func (d *deltaReader) reset() {
	*d = deltaReader{client: d.client, now: d.now, progress: d.progress, useAlternative: d.useAlternative}
}

// read polls once. old are the jobs of the last snapshot, which were right at asOf.
func (d *deltaReader) read(ctx context.Context, old []*slurm.Job, asOf time.Time) (jobsReading, error) {
	begin := d.now()
	p := newDeltaPoll(old)
	full, by := d.stats == nil || d.pollsSinceFull >= fullEvery, ReadDelta
	if !full {
		if err := d.readKnown(ctx, p); err != nil {
			return jobsReading{}, err
		}
	}
	// diag is read just before the window, so that it counts a large array whose id is in there.
	stats, err := d.client.Stats(ctx)
	if err != nil {
		return jobsReading{}, err
	}
	didRestart := d.stats != nil && hasRestarted(d.stats, stats)
	full = full || didRestart
	if !full {
		found, err := d.readNew(ctx, p, stats)
		if err != nil {
			return jobsReading{}, err
		}
		full = !found || p.isSuspicious(d.stats, stats)
	}
	if full {
		p = newDeltaPoll(old)
		if by, err = d.readFull(ctx, p, stats); err != nil {
			return jobsReading{}, err
		}
		p.wantLargeArrays()
	}
	part := dueDivisor
	if didRestart || d.outdated > 0 {
		part = restartDueDivisor
	}
	due := p.dueIDs(d.lastDue, part)
	doubtful := slices.Concat(d.updateDoubts(p, stats, asOf), p.unevaluated(stats.At))
	if err := d.readDetails(ctx, p, doubtful, due); err != nil {
		return jobsReading{}, err
	}
	if !full {
		if err := d.readMissed(ctx, p, stats); err != nil {
			return jobsReading{}, err
		}
	}
	d.outdated = max(0, d.outdated-len(due))
	if didRestart {
		d.outdated = len(old)
	}
	// A full reading right after another one is not exceptional.
	rare := full && !d.wasFull
	d.commit(p, stats, due, full)
	d.doubts.raiseSameLimit(p, begin)
	d.doubts.settle(p)
	d.lastPoll = begin
	jobs, changed := p.mergeJobs()
	return jobsReading{jobs: jobs, changed: changed, serverTime: stats.At, exceptional: rare,
		oldest: d.doubts.oldestFact(begin), round: p.pollsPerRound(), reader: by}, nil
}

// updateDoubts puts jobs in doubt according to what the poll has read so far, and lists the jobs that
// the poll reads again. Doubts raised by a poll that failed remain.
func (d *deltaReader) updateDoubts(p *deltaPoll, stats *slurm.Stats, asOf time.Time) []uint32 {
	if d.doubts == nil {
		d.doubts = doubts{}
	}
	if d.stats == nil {
		// Another reader was in use, and nobody compared the counters of updates meanwhile.
		d.doubts.raiseAll(p, asOf)
		return d.doubts.nextBatch(p)
	}
	if jobUpdates(stats) != jobUpdates(d.stats) {
		d.doubts.raiseAll(p, d.lastPoll)
	}
	if d.released == nil {
		d.released = releasedJobs{}
	}
	d.released.settle(p, d.now())
	d.released.add(p, dependentJobs(p), d.now())
	for id := range d.released {
		d.doubts.raise(id, d.lastPoll)
	}
	return d.doubts.nextBatch(p)
}

// commit stores the state for the next poll. Until a poll has succeeded as a whole, this state does
// not change.
func (d *deltaReader) commit(p *deltaPoll, stats *slurm.Stats, due []uint32, full bool) {
	d.stats = stats
	d.pollsSinceFull++
	d.wasFull = full
	if full {
		d.pollsSinceFull, d.windowSize = 0, minWindow
	}
	d.cursor = p.nextCursor(d.cursor, full)
	if len(due) > 0 {
		d.lastDue = due[len(due)-1]
	} else {
		d.lastDue = 0
	}
}

// readKnown reads the states of the known jobs and marks those that changed or are gone.
func (d *deltaReader) readKnown(ctx context.Context, p *deltaPoll) error {
	if ids := p.stateIDs(); len(ids) > 0 {
		rows, err := d.client.jobStatesOf(ctx, ids)
		if err != nil {
			return err
		}
		p.addStates(rows)
	}
	p.compareKnown()
	return nil
}

// readDetails reads the records that the poll wants, those in doubt and those that are due.
func (d *deltaReader) readDetails(ctx context.Context, p *deltaPoll, doubtful, due []uint32) error {
	wanted := p.wantedRecords()
	done, total := 0, len(wanted)+len(doubtful)+len(due)
	for _, ids := range [][]uint32{wanted, doubtful, due} {
		for _, id := range ids {
			d.progress(done, total)
			done++
			if err := d.readRecord(ctx, p, id); err != nil {
				return err
			}
			// A request for an array's id returns the records of all its split tasks, so it is
			// sent as soon as the first new split task appears.
			if array, ok := p.shrunkArray(id); ok {
				if err := d.readRecord(ctx, p, array); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (d *deltaReader) readRecord(ctx context.Context, p *deltaPoll, id uint32) error {
	if p.hasRead(id) {
		return nil
	}
	jobs, err := d.client.Job(ctx, id)
	switch {
	case IsNotFound(err):
		p.markGone(id)
	case err != nil:
		return err
	default:
		p.addRecords(id, jobs)
	}
	return nil
}

// hasRestarted reports whether slurmctld reset its counters or its clock went back. slurmctld also
// resets the counters at midnight and on request (sdiag --reset); a full reading is unnecessary then
// but does no harm. A slurmctld that has just started does not report when its counters began.
func hasRestarted(old, now *slurm.Stats) bool {
	return old.Since.IsSet() && now.Since != old.Since || now.At < old.At || now.JobsSubmitted < old.JobsSubmitted
}

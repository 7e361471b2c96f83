package delta

import (
	"context"
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Source answers the requests of a Reader.
type Source interface {
	// Stats reads slurmctld's statistics.
	Stats(ctx context.Context) (*slurm.Stats, error)
	// Job reads the records of an id. For the id of an array it returns all split tasks, and for an unknown id no record.
	Job(ctx context.Context, id uint32) ([]*slurm.Job, error)
	// JobStates reads the states of at least one id, which may be a single task ("7_3"), and leaves out missing ones. For a task that is not
	// split off it returns all such tasks of its array.
	JobStates(ctx context.Context, ids []string) ([]slurm.JobStatus, error)
	// UnknownJobStates is JobStates for ids that may be large arrays, whose states may take minutes.
	UnknownJobStates(ctx context.Context, ids []string) ([]slurm.JobStatus, error)
	// FittingIDs returns how many of the ids fit into one request of JobStates.
	FittingIDs(ids []string) int
	// NextJobID reads the id that slurmctld gives the next job, 0 if slurmctld does not report it.
	NextJobID(ctx context.Context) uint32
	// AllJobStates reads the states of all jobs and tasks, which may take minutes.
	AllJobStates(ctx context.Context) ([]slurm.JobStatus, error)
	// EachJob requests the list of all jobs and calls yield for each record, which is only valid
	// during the call.
	EachJob(ctx context.Context, yield func(*slurm.Job) error) error
}

// Reading is the result of one poll.
type Reading struct {
	// Jobs are all jobs, sorted by id. Changed is false if they are the known jobs.
	Jobs    []*slurm.Job
	Changed bool
	// ServerTime is slurmctld's time.
	ServerTime slurm.Time
	// Exceptional is whether this poll did work that the next ones need not repeat.
	Exceptional bool
	// DoubtTime is how long the poll read records that were in doubt.
	DoubtTime time.Duration
	// Oldest is when the oldest fact in the jobs was last known to be right.
	Oldest time.Time
	// Round is the number of polls after which every record has been read again.
	Round int
	// FromList is whether the poll requested the list of all jobs.
	FromList bool
}

// Reader reads jobs without requesting the list of all jobs in every poll. A poll reads:
//
//  1. The states of all known jobs, by id and in chunks. This costs the server about 10 µs per job;
//     the list costs over a millisecond per job.
//  2. diag, for the server's time, for signs that slurmctld restarted, and for the number of tasks
//     submitted.
//  3. The states of a window of ids above the newest known id, to find new jobs. If large arrays
//     were submitted, it reads the records of these ids one by one instead.
//  4. The full records of jobs that are new or whose state changed, of arrays whose tasks changed,
//     and of pending jobs in doubt. A job is in doubt when its record may have changed without a
//     change of state: a job was updated (diag counts these requests), a job that it depends on
//     changed, or a limit that holds it back may have room. For these, one poll reads a sixth of the
//     jobs, and at least 1,000 records or 15 s, so a doubt lasts seven polls at most. Until then
//     the reading is as old as its oldest doubt (Reading.Oldest). slurmctld may report only later
//     that the end of a job released another one: see releasedJobs.
//  5. A few more records in turn, each at least every 128 polls or so. These contain changes that
//     are not urgent, such as an expected start time and, after a restart of slurmctld, fields of
//     finished jobs. An array with many split tasks is read only when all states are read.
//
// At the start and when the answers are inconsistent (see isSuspicious), the reader reads all jobs by their states or as a list, regardless
// of their ids (see readFull). This finds what the window misses: ids that started over after slurmctld lost its state, or that wrapped
// around.
//
// The reader compares with the jobs of the last snapshot and keeps little state of its own. It returns either all jobs or an error.
type Reader struct {
	source   Source
	now      func() time.Time
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
	// isForeign is whether the known jobs are of another cluster; see Distrust.
	isForeign bool
	// sampleShift moves the ids that sampleRecords requests.
	sampleShift uint32
	// outdated is the number of records that slurmctld may have changed when it started and
	// that have not been read since.
	outdated int
	// doubts are the jobs to read although their state did not change. lastPoll is when the
	// last good poll began.
	doubts   doubts
	lastPoll time.Time
	// inFlight limits the requests for records, and statesInFlight those for states.
	inFlight, statesInFlight inFlight
	kept                     keptRecords
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

// NewReader returns a Reader that has read nothing yet. now is the clock. progress is called with the
// number of records that a poll has read and will read.
func NewReader(source Source, now func() time.Time, progress func(done, total int)) *Reader {
	return &Reader{source: source, now: now, progress: progress, inFlight: newInFlight(), statesInFlight: newInFlight()}
}

// Reset makes the next poll start from the known jobs only, because another reader read in between.
func (d *Reader) Reset() {
	*d = Reader{source: d.source, now: d.now, progress: d.progress, useAlternative: d.useAlternative, sampleShift: d.sampleShift,
		isForeign: d.isForeign, inFlight: d.inFlight, statesInFlight: d.statesInFlight}
}

// Distrust makes the next poll read every record, because the known jobs are of another cluster: its jobs may have the same ids and states.
func (d *Reader) Distrust() {
	d.Reset()
	d.isForeign = true
}

// Read polls once. old are the jobs of the last snapshot, sorted by id, which were right at asOf.
func (d *Reader) Read(ctx context.Context, old []*slurm.Job, asOf time.Time) (Reading, error) {
	begin := d.now()
	p := newPoll(old)
	full, by := d.stats == nil || d.pollsSinceFull >= fullEvery, byStates
	isExpected := d.stats != nil
	if !full {
		if err := d.readKnown(ctx, p); err != nil {
			return Reading{}, err
		}
	}
	// diag is read just before the window, so that it counts a large array whose id is in there.
	asked := d.now()
	stats, err := d.source.Stats(ctx)
	if err != nil {
		return Reading{}, err
	}
	roundTrip := d.now().Sub(asked)
	didRestart := d.stats != nil && hasRestarted(d.stats, stats)
	full = full || didRestart
	if !full {
		found, err := d.readNew(ctx, p, stats)
		if err != nil {
			return Reading{}, err
		}
		full = !found || p.isSuspicious(d.stats, stats)
		isExpected = !full
	}
	if full {
		p = newPoll(old)
		top := d.source.NextJobID(ctx)
		// A slurmctld that has lost its state gives the ids of known jobs to others.
		p.wantsAll = d.isForeign || didRestart && haveIDsStartedOver(top, old)
		if isExpected && !didRestart {
			top = max(top, d.cursor)
		}
		top = topID(top, old)
		if by, err = d.readFull(ctx, p, stats, roundTrip, top); err != nil {
			return Reading{}, err
		}
		p.wantLargeArrays()
	}
	part := dueDivisor
	if didRestart || d.outdated > 0 {
		part = restartDueDivisor
	}
	due := p.dueIDs(d.lastDue, part)
	doubtful := slices.Concat(d.updateDoubts(p, stats, asOf, d.inFlight.recordTime(roundTrip)), p.unevaluated(stats.At))
	stale, staleSince := d.useKept(p, stats), d.kept.since
	doubtTime, err := d.readDetails(ctx, p, doubtful, due)
	if err != nil {
		d.kept.addPoll(p, stats, begin)
		return Reading{}, err
	}
	if !full {
		if err := d.readMissed(ctx, p, stats); err != nil {
			d.kept.addPoll(p, stats, begin)
			return Reading{}, err
		}
	}
	d.kept = keptRecords{}
	d.outdated = max(0, d.outdated-len(due))
	if didRestart {
		d.outdated = len(old)
	}
	// A full reading right after another one is not exceptional.
	rare := full && !d.wasFull
	d.commit(p, stats, due, full)
	d.doubts.raiseSameLimit(p, begin)
	d.doubts.settle(p)
	for _, id := range stale {
		d.doubts.raise(id, staleSince)
	}
	d.lastPoll = begin
	jobs, changed := p.mergeJobs()
	return Reading{Jobs: jobs, Changed: changed, ServerTime: stats.At, Exceptional: rare,
		DoubtTime: doubtTime, Oldest: d.doubts.oldestFact(begin), Round: p.pollsPerRound(), FromList: by == byList}, nil
}

// updateDoubts puts jobs in doubt according to what the poll has read so far, and lists the jobs that
// the poll reads again. Doubts raised by a poll that failed remain.
func (d *Reader) updateDoubts(p *poll, stats *slurm.Stats, asOf time.Time, recordTime time.Duration) []uint32 {
	if d.doubts == nil {
		d.doubts = doubts{}
	}
	if d.stats == nil {
		// Another reader was in use, so the counters of updates were not compared meanwhile.
		d.doubts.raiseAll(p, asOf)
		return d.doubts.nextBatch(p, recordTime)
	}
	if stats.JobUpdates() != d.stats.JobUpdates() {
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
	return d.doubts.nextBatch(p, recordTime)
}

// commit stores the state for the next poll. Until a poll has succeeded as a whole, this state does
// not change.
func (d *Reader) commit(p *poll, stats *slurm.Stats, due []uint32, full bool) {
	d.stats, d.isForeign = stats, false
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
func (d *Reader) readKnown(ctx context.Context, p *poll) error {
	if ids := p.stateIDs(); len(ids) > 0 {
		rows, err := d.readStates(ctx, ids)
		if err != nil {
			return err
		}
		p.addStates(rows)
	}
	p.compareKnown()
	return nil
}

// readDetails reads the records that the poll wants, those in doubt and those that are due. It returns the part of its time that
// those in doubt took.
func (d *Reader) readDetails(ctx context.Context, p *poll, doubtful, due []uint32) (doubtTime time.Duration, err error) {
	ids := slices.Concat(p.wantedRecords(), doubtful, due)
	done, begin := 0, d.now()
	d.progress(done, len(ids))
	err = d.readRecords(ctx, p, ids, func(id uint32) (uint32, bool) {
		done = min(done+1, len(ids))
		d.progress(done, len(ids))
		// A request for an array's id returns the records of all its split tasks, so it is sent as soon as the first new
		// split task appears.
		return p.shrunkArray(id)
	})
	return d.now().Sub(begin) * time.Duration(len(doubtful)) / time.Duration(max(1, len(ids))), err
}

// hasRestarted reports whether slurmctld reset its counters or its clock went back. slurmctld also
// resets the counters at midnight and on request (sdiag --reset); a full reading is unnecessary then
// but does no harm. A slurmctld that has just started does not report when its counters began.
func hasRestarted(old, now *slurm.Stats) bool {
	return old.Since.IsSet() && now.Since != old.Since || now.At < old.At || now.JobsSubmitted < old.JobsSubmitted
}

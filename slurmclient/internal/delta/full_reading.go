package delta

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/internal/records"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// A full reading of a delta reader finds every job regardless of its id. It requests the states of all
// jobs, the states of all ids that may be jobs, or the list of all jobs:
//
//   - jobs/state has a row for every task of every array, and its cost grows with the cube of the
//     number of rows.
//   - The states of ids, in many requests, cost a little for each id, whether it is a job or not. The
//     largest id must be known.
//   - The list has one record for all tasks of an array that are not split off, and its cost grows
//     with the square of the number of records.
//
// For example, an array of 100,000 tasks is a list of one record, which takes milliseconds, or
// 100,000 states, which take minutes.

const (
	// maxListedRecords limits the length of a list that is requested: slurmrestd needs 130 kB of
	// memory for each record while it answers.
	maxListedRecords = 20_000
	// cheapStates is the highest cost of the states of all jobs at which the list is not considered.
	cheapStates = 2 * time.Second
)

// statesCost estimates how long slurmrestd takes to answer with this many rows of jobs/state.
// Measured: 1 s for 20,000 rows, 15 s for 50,000, 115 to 197 s for 100,000.
func statesCost(rows uint64) time.Duration {
	n := float64(rows)
	return time.Duration(30e3*n + 1.25e-4*n*n*n)
}

// listCost estimates how long slurmrestd takes to answer with a list of this many records. Measured:
// 2 s for 4,000 records, 25 to 37 s for 20,000.
func listCost(records uint64) time.Duration {
	n := float64(records)
	return time.Duration(400e3*n + 60*n*n)
}

// queueSize is the length of the queue. records counts the tasks of an array that are not split off as one; tasks counts each of them.
type queueSize struct{ records, tasks uint64 }

// queueSizeOf estimates the queue from the known jobs and from slurmctld's counters: the tasks that
// are pending or running, and the records that wait for nodes or run.
func queueSizeOf(known []*slurm.Job, s *slurm.Stats) queueSize {
	var k queueSize
	for _, j := range known {
		k.records++
		k.tasks += taskCount(j)
	}
	counted := s.JobsPending + s.JobsRunning
	// The gauges are up to half a minute old, the counters are current.
	if ended := s.JobsCompleted + s.JobsCanceled + s.JobsFailed; s.JobsSubmitted > ended {
		counted = max(counted, s.JobsSubmitted-ended)
	}
	return queueSize{
		records: max(k.records, max(s.Main.QueueLength, s.Backfill.QueueLength)+s.JobsRunning),
		tasks:   max(k.tasks, k.records, counted),
	}
}

// idsCost estimates how long slurmrestd takes to answer with the states of the ids up to top, in requests of about fifty ids. An id takes
// 10 µs, as for known jobs, and a request 0.5 ms. One of the answers also contains the tasks of arrays that are not split off.
func (q queueSize) idsCost(top uint32) time.Duration {
	return time.Duration(top)*20*time.Microsecond + statesCost(q.tasks-min(q.tasks, q.records))
}

// AreStatesCheap reports whether slurmrestd answers quickly with the states of all jobs.
func AreStatesCheap(known []*slurm.Job, s *slurm.Stats) bool {
	return statesCost(queueSizeOf(known, s).tasks) <= cheapStates
}

// CountTasks returns the minimum number of jobs and array tasks that the records represent.
func CountTasks(jobs []*slurm.Job) uint64 {
	var n uint64
	for _, j := range jobs {
		n += taskCount(j)
	}
	return n
}

// taskCount returns the minimum number of tasks that a record represents.
func taskCount(j *slurm.Job) uint64 {
	if !j.IsArrayBase() {
		return 1
	}
	_, count, _ := taskBounds(j.ArrayTasks)
	return max(1, count)
}

// method is how a full reading finds every job.
type method string

const (
	byStates method = "states"
	byIDs    method = "ids"
	byList   method = "list"
)

// cheaperMethod chooses the method that reads everything. known is how many records need not be read after the states, and recordTime is
// the time to read each of the others. top is the largest id that a job may have, 0 if unknown. Cheap states are preferred, since the
// estimate does not count records that wait for anything but nodes.
func (q queueSize) cheaperMethod(known int, recordTime time.Duration, top uint32) method {
	best, states := byStates, statesCost(q.tasks)
	if ids := q.idsCost(top); top > 0 && states > cheapStates && ids < states/2 {
		best, states = byIDs, ids
	}
	states += time.Duration(max(0, int64(q.records)-int64(known))) * recordTime
	if states > cheapStates && q.records <= maxListedRecords && listCost(q.records) < states {
		return byList
	}
	return best
}

// alternative returns the method to try when m failed. It never returns a list of more records than maxListedRecords: slurmrestd builds the
// whole list in memory, even after its client has left.
func (q queueSize) alternative(m method, top uint32) method {
	switch {
	case m != byStates:
		return byStates
	case q.records <= maxListedRecords:
		return byList
	case top > 0:
		return byIDs
	}
	return byStates
}

// readFull reads all jobs by the cheaper method. After a failure the next poll uses the other
// method, and the two alternate until one succeeds.
func (d *Reader) readFull(
	ctx context.Context, p *poll, stats *slurm.Stats, roundTrip time.Duration, top uint32,
) (by method, err error) {
	known := p.old
	if len(known) < len(d.kept.jobs) {
		known = slices.Collect(maps.Values(d.kept.jobs))
	}
	size := queueSizeOf(known, stats)
	if size.mayHideRecords(top) {
		if size, err = d.sampleRecords(ctx, size, top); err != nil {
			return byStates, err
		}
	}
	by = size.cheaperMethod(len(known), d.inFlight.recordTime(roundTrip), top)
	if d.useAlternative {
		by = size.alternative(by, top)
	}
	switch by {
	case byList:
		err = d.readList(ctx, p)
	case byIDs:
		err = d.readStatesOfIDs(ctx, p, stats, top)
	default:
		err = d.readAllStates(ctx, p)
	}
	d.useAlternative = d.useAlternative != (err != nil)
	return by, err
}

// sampleStride is the distance of the ids that sampleRecords requests. Up to the largest id that a job may have, these are 67,000 ids,
// which take slurmrestd 0.7 s. A list that is just too long has 20 of them.
const sampleStride = 1000

// mayHideRecords reports whether the tasks that slurmctld counts may be too many records for a list. Its counters do not distinguish
// 100,000 tasks of an array from 100,000 jobs that are held or depend on others.
func (q queueSize) mayHideRecords(top uint32) bool {
	most := q.tasks
	if top > 0 {
		most = min(most, uint64(top))
	}
	return statesCost(q.tasks) > cheapStates && q.records <= maxListedRecords && most > maxListedRecords
}

// sampleRecords estimates the number of records from the ids that have a job, and returns the size with it. For the id of a large array,
// the answer has all its tasks and may take longer than the timeout. After a failure, it therefore requests other ids.
func (d *Reader) sampleRecords(ctx context.Context, size queueSize, top uint32) (queueSize, error) {
	if top == 0 {
		top = maxJobID
	}
	ids := make([]uint32, 0, top/sampleStride+1)
	for id := sampleStride - d.sampleShift; id <= top; id += sampleStride {
		ids = append(ids, id)
	}
	rows, err := d.readStates(ctx, formatIDs(ids))
	if err != nil {
		d.sampleShift = (d.sampleShift + 1) % sampleStride
		return size, err
	}
	found := make(map[uint32]bool, len(rows))
	for _, r := range rows {
		found[r.ID] = true
	}
	size.records = max(size.records, min(size.tasks, uint64(len(found))*sampleStride))
	return size, nil
}

// readList reads the records of all jobs.
func (d *Reader) readList(ctx context.Context, p *poll) error {
	err := d.source.EachJob(ctx, func(j *slurm.Job) error { p.addListed(records.Copy(j)); return nil })
	if err != nil {
		return err
	}
	p.dropUnlisted()
	return nil
}

// readAllStates reads the states of all jobs. Each task of an array has its own row.
func (d *Reader) readAllStates(ctx context.Context, p *poll) error {
	rows, err := d.source.AllJobStates(ctx)
	if err != nil {
		return err
	}
	p.addStates(rows)
	p.compareAll()
	return nil
}

// topID returns the largest id that a job may have, 0 if unknown. next is the id of the next job, 0 if unknown. If ids have started over,
// known jobs may have larger ids. For jobs of a federation, slurmctld does not report the next id.
func topID(next uint32, known []*slurm.Job) uint32 {
	top := next
	if next > 0 && len(known) > 0 {
		top = max(next, known[len(known)-1].ID)
	}
	if top > maxJobID {
		return 0
	}
	return top
}

// haveIDsStartedOver reports whether the next job gets an id that is not above the newest known id; false if the next id is unknown.
func haveIDsStartedOver(next uint32, known []*slurm.Job) bool {
	if next == 0 || len(known) == 0 {
		return false
	}
	newest := known[len(known)-1].ID
	return newest >= next && newest <= maxJobID // of a federation it is larger
}

// idsPerBlock is how many ids a full reading requests before it evaluates the answers.
const idsPerBlock = 1 << 14

// readStatesOfIDs reads the states of the ids up to top, and of the following ids as long as they have jobs. If jobs may be missing, it
// reads the states of all jobs: ids start over after the largest one, and the jobs of a federation have larger ids.
func (d *Reader) readStatesOfIDs(ctx context.Context, p *poll, stats *slurm.Stats, top uint32) error {
	var all []slurm.JobStatus
	for from := uint32(1); from <= maxJobID; from += idsPerBlock {
		rows, err := d.requestStates(ctx, idsBetween(from, min(from+idsPerBlock-1, maxJobID)), d.source.UnknownJobStates)
		if err != nil {
			return err
		}
		if all = append(all, rows...); from+idsPerBlock > top && len(rows) == 0 {
			break
		}
	}
	after, err := d.source.Stats(ctx)
	if err != nil {
		return err
	}
	since := stats
	if d.stats != nil && !hasRestarted(d.stats, stats) {
		since = d.stats
	}
	if mayLackJobs(countUnfinished(all), stats.JobsPending+stats.JobsRunning, since, after) {
		return d.readAllStates(ctx, p)
	}
	p.firstUnread = top
	p.addStates(all)
	p.compareAll()
	return nil
}

// mayLackJobs reports whether the reading may lack unfinished jobs. slurmctld counted more of them before the reading, and jobs that ended
// or came between two readings of its counters do not explain the difference. The count may be older than the counters, hence the factor of
// two. before is the last poll's statistics, if it read any.
func mayLackJobs(found, counted uint64, before, after *slurm.Stats) bool {
	if found >= counted {
		return false
	}
	changes := uint64(0)
	for _, counter := range []func(*slurm.Stats) uint64{
		func(s *slurm.Stats) uint64 { return s.JobsSubmitted }, func(s *slurm.Stats) uint64 { return s.JobsCompleted },
		func(s *slurm.Stats) uint64 { return s.JobsCanceled }, func(s *slurm.Stats) uint64 { return s.JobsFailed },
	} {
		if counter(after) < counter(before) {
			return true // the counters have started over
		}
		changes += counter(after) - counter(before)
	}
	return counted-found > min(2*changes, counted/10)
}

// countUnfinished counts the jobs and tasks that have not finished. The rows for an array's id include its split tasks, which appear again
// under their own ids.
func countUnfinished(rows []slurm.JobStatus) (n uint64) {
	type task struct {
		id         uint32
		task, part slurm.Number
		tasks      string
	}
	counted := make(map[task]bool, len(rows))
	for _, r := range rows {
		if key := (task{r.ID, r.TaskID, r.HetOffset, r.Tasks}); !r.State.Base.Finished() && !counted[key] {
			counted[key] = true
			n++
		}
	}
	return n
}

// addListed adds a record of the list of all jobs.
func (p *poll) addListed(j *slurm.Job) {
	p.read[j.ID] = j
	p.indexTask(j)
	p.rows[j.ID] = &stateRow{state: j.State}
}

// dropUnlisted marks the jobs that the list of all jobs lacks as gone.
func (p *poll) dropUnlisted() {
	for _, j := range p.old {
		if !p.hasRead(j.ID) {
			p.markGone(j.ID)
		}
	}
}

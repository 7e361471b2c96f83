package delta

import (
	"context"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/internal/records"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// A full reading of a delta reader finds every job regardless of its id. It requests either the
// states of all jobs or the list of all jobs:
//
//   - jobs/state has a row for every task of every array, and its cost grows with the cube of the
//     number of rows.
//   - The list has one record for all tasks of an array that are not split off, and its cost grows
//     with the square of the number of records.
//
// For example, an array of 100,000 tasks is a list of one record, which takes milliseconds, or
// 100,000 states, which take minutes.

const (
	// maxListedRecords limits the length of a list that is requested: slurmrestd needs 130 kB of
	// memory for each record while it answers.
	maxListedRecords = 20_000
	// cheapStates is the cost of the states of all jobs up to which the list is not considered.
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

// queueSize is the length of the queue. records counts the tasks of an array that are not split off
// as one, tasks counts each of them.
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

// AreStatesCheap reports whether slurmrestd answers quickly with the states of all jobs.
func AreStatesCheap(known []*slurm.Job, s *slurm.Stats) bool {
	return statesCost(queueSizeOf(known, s).tasks) <= cheapStates
}

// CountTasks returns how many jobs and array tasks the records stand for, at least.
func CountTasks(jobs []*slurm.Job) uint64 {
	var n uint64
	for _, j := range jobs {
		n += taskCount(j)
	}
	return n
}

// taskCount returns the minimum number of tasks that a record stands for.
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
	byList   method = "list"
)

// cheaperMethod decides how everything is read. known records need not be read after the states, and recordTime is how long each of
// the others takes. Cheap states are preferred, since the estimate does not count records that wait for anything but nodes.
func (q queueSize) cheaperMethod(known int, recordTime time.Duration) method {
	states := statesCost(q.tasks) + time.Duration(max(0, int64(q.records)-int64(known)))*recordTime
	if states > cheapStates && q.records <= maxListedRecords && listCost(q.records) < states {
		return byList
	}
	return byStates
}

// alternative returns the method to try when this one failed.
func (m method) alternative() method {
	if m == byList {
		return byStates
	}
	return byList
}

// readFull reads all jobs by the cheaper method. After a failure the next poll uses the other
// method, and so on until one of them succeeds.
func (d *Reader) readFull(ctx context.Context, p *poll, stats *slurm.Stats, roundTrip time.Duration) (by method, err error) {
	known := max(len(p.old), len(d.kept.jobs))
	by = queueSizeOf(p.old, stats).cheaperMethod(known, d.inFlight.recordTime(roundTrip))
	if d.useAlternative {
		by = by.alternative()
	}
	if by == byList {
		err = d.readList(ctx, p)
	} else {
		err = d.readAllStates(ctx, p)
	}
	d.useAlternative = d.useAlternative != (err != nil)
	return by, err
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

// addListed adds a record of the list of all jobs.
func (p *poll) addListed(j *slurm.Job) {
	p.read[j.ID] = j
	p.indexTask(j)
	p.rows[j.ID] = &stateRow{state: j.State}
}

// dropUnlisted marks the jobs as gone that are not in the list of all jobs.
func (p *poll) dropUnlisted() {
	for _, j := range p.old {
		if !p.hasRead(j.ID) {
			p.markGone(j.ID)
		}
	}
}

package slurmclient

import (
	"context"
	"time"

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
	// allStatesTimeout is the deadline of the request for the states of all jobs.
	allStatesTimeout = 5 * time.Minute
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

// taskCount returns the minimum number of tasks that a record stands for.
func taskCount(j *slurm.Job) uint64 {
	if !j.IsArrayBase() {
		return 1
	}
	_, count, _ := taskBounds(j.ArrayTasks)
	return max(1, count)
}

// cheaperReader decides how everything is read: as a list (ReadList) or by states (ReadDelta). Cheap
// states are preferred, since the estimate does not count records that wait for anything but nodes.
func (q queueSize) cheaperReader() JobsReader {
	states := statesCost(q.tasks)
	if states > cheapStates && q.records <= maxListedRecords && listCost(q.records) < states {
		return ReadList
	}
	return ReadDelta
}

// alternative returns the reader to try when this one failed.
func (r JobsReader) alternative() JobsReader {
	if r == ReadList {
		return ReadDelta
	}
	return ReadList
}

// readFull reads all jobs with the cheaper reader. After a failure the next poll uses the other
// reader, and so on until one of them succeeds.
func (d *deltaReader) readFull(ctx context.Context, p *deltaPoll, stats *slurm.Stats) (by JobsReader, err error) {
	by = queueSizeOf(p.old, stats).cheaperReader()
	if d.useAlternative {
		by = by.alternative()
	}
	if by == ReadList {
		err = d.readList(ctx, p)
	} else {
		err = d.readAllStates(ctx, p)
	}
	d.useAlternative = d.useAlternative != (err != nil)
	return by, err
}

// readList reads the records of all jobs.
func (d *deltaReader) readList(ctx context.Context, p *deltaPoll) error {
	_, err := jobsCall(0).run(ctx, d.client, func(j *slurm.Job) error { p.addListed(copyRecord(j)); return nil })
	if err != nil {
		return err
	}
	p.dropUnlisted()
	return nil
}

// readAllStates reads the states of all jobs. Each task of an array has its own row.
func (d *deltaReader) readAllStates(ctx context.Context, p *deltaPoll) error {
	rows, err := d.client.allJobStates(ctx)
	if err != nil {
		return err
	}
	p.addStates(rows)
	p.compareAll()
	return nil
}

// addListed adds a record of the list of all jobs.
func (p *deltaPoll) addListed(j *slurm.Job) {
	p.read[j.ID] = j
	p.indexTask(j)
	p.rows[j.ID] = &stateRow{state: j.State}
}

// dropUnlisted marks the jobs as gone that are not in the list of all jobs.
func (p *deltaPoll) dropUnlisted() {
	for _, j := range p.old {
		if !p.hasRead(j.ID) {
			p.markGone(j.ID)
		}
	}
}

package slurmclient

import (
	"context"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// A full reading of a delta reader finds every job, whatever its id. It asks for the
// states of all jobs or for the list of them:
//
//   - jobs/state has a row for every task of every array, and its cost grows with the
//     cube of the rows;
//   - the list has one record for all tasks of an array that are not split off, and its
//     cost grows with the square of the records.
//
// So an array of 100,000 tasks is a list of one record, which takes milliseconds, or
// 100,000 states, which take minutes.

const (
	// mostListed bounds the records of a list that is asked for: slurmrestd holds 130 kB
	// of memory for each while it answers.
	mostListed = 20_000
	// cheapStates is what the states of all jobs may cost without the list being an option.
	cheapStates = 2 * time.Second
	// fullTimeout is the deadline of the request for the states of all jobs.
	fullTimeout = 5 * time.Minute
)

// statesCost estimates what slurmrestd spends on so many rows of jobs/state. Measured: 1 s
// for 20,000 rows, 15 s for 50,000, 115 to 197 s for 100,000.
func statesCost(rows uint64) time.Duration {
	n := float64(rows)
	return time.Duration(30e3*n + 1.25e-4*n*n*n)
}

// listCost estimates what slurmrestd spends on a list of so many records. Measured: 2 s for
// 4,000 records, 25 to 37 s for 20,000.
func listCost(records uint64) time.Duration {
	n := float64(records)
	return time.Duration(400e3*n + 60*n*n)
}

// queueSize is how long the queue is: records count an array's tasks that are not split
// off as one, tasks count each.
type queueSize struct{ records, tasks uint64 }

// sizeOf estimates the queue by the jobs that are known and by what slurmctld counts:
// the tasks that are pending or running, and the records that wait for nodes or run.
func sizeOf(known []*slurm.Job, s *slurm.Stats) queueSize {
	var k queueSize
	for _, j := range known {
		k.records++
		k.tasks += taskCount(j)
	}
	counted := s.JobsPending + s.JobsRunning
	// The gauges are up to half a minute old, the counter is not.
	if ended := s.JobsCompleted + s.JobsCanceled + s.JobsFailed; s.JobsSubmitted > ended {
		counted = max(counted, s.JobsSubmitted-ended)
	}
	return queueSize{
		records: max(k.records, max(s.Main.QueueLength, s.Backfill.QueueLength)+s.JobsRunning),
		tasks:   max(k.tasks, k.records, counted),
	}
}

// taskCount is how many tasks a record stands for, at the least.
func taskCount(j *slurm.Job) uint64 {
	if !j.IsArrayBase() {
		return 1
	}
	_, count, _ := taskBounds(j.ArrayTasks)
	return max(1, count)
}

// fullBy decides how everything is read: by ReadList or, with ReadDelta, by states. States
// that cost little are preferred, since records that wait for anything but nodes are not
// counted in the estimate.
func (q queueSize) fullBy() JobsReader {
	states := statesCost(q.tasks)
	if states > cheapStates && q.records <= mostListed && listCost(q.records) < states {
		return ReadList
	}
	return ReadDelta
}

// other is the reader to try when this one brought nothing.
func (r JobsReader) other() JobsReader {
	if r == ReadList {
		return ReadDelta
	}
	return ReadList
}

// readFull reads everything, by the cheaper way. A way that brought nothing is followed by
// the other one in the next poll, and so on until one of them does.
func (d *deltaReader) readFull(ctx context.Context, p *deltaPoll, stats *slurm.Stats) (by JobsReader, err error) {
	by = sizeOf(p.old, stats).fullBy()
	if d.otherWay {
		by = by.other()
	}
	if by == ReadList {
		err = d.readList(ctx, p)
	} else {
		err = d.readAll(ctx, p)
	}
	d.otherWay = d.otherWay != (err != nil)
	return by, err
}

// readList reads the records of all jobs.
func (d *deltaReader) readList(ctx context.Context, p *deltaPoll) error {
	if _, err := jobsCall(0).run(ctx, d.client, func(j *slurm.Job) error { p.list(clone(j)); return nil }); err != nil {
		return err
	}
	p.dropUnlisted()
	return nil
}

// readAll reads the states of all jobs. Tasks of arrays come as rows of their own.
func (d *deltaReader) readAll(ctx context.Context, p *deltaPoll) error {
	rows, err := d.client.allJobStates(ctx)
	if err != nil {
		return err
	}
	p.see(rows)
	p.compareAll()
	return nil
}

// list notes a record of the list of all jobs.
func (p *deltaPoll) list(j *slurm.Job) {
	p.read[j.ID] = j
	p.index(j)
	p.rows[j.ID] = &stateRow{state: j.State}
}

// dropUnlisted forgets the jobs that the list of all jobs does not have.
func (p *deltaPoll) dropUnlisted() {
	for _, j := range p.old {
		if !p.has(j.ID) {
			p.gone(j.ID)
		}
	}
}

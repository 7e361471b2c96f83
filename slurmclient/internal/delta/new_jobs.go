package delta

import (
	"context"
	"strconv"

	"github.com/slurmtide/slurmtide/slurmclient/internal/records"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

const (
	// maxExpandedTasks limits how many tasks of new arrays may be expanded into states.
	maxExpandedTasks = 2000
	// maxMissingIDs limits how many ids without a job are read one by one.
	maxMissingIDs = 256
)

// readNew looks for new jobs. found is false if it cannot find them because many of the submitted
// tasks are not near the newest known id.
func (d *Reader) readNew(ctx context.Context, p *poll, stats *slurm.Stats) (found bool, err error) {
	next, missing, err := d.readArrays(ctx, p, tasksSubmitted(d.stats, stats))
	if err != nil || missing > maxExpandedTasks {
		return false, err
	}
	return true, d.readWindow(ctx, p, next, idsTaken(d.stats, stats, missing))
}

// readArrays reads the records above the newest known id one by one if large arrays were submitted,
// since jobs/state would answer with one row for each of their tasks. It continues until all but
// maxExpandedTasks of the submitted tasks have been found. It returns the next id to read and how
// many tasks are missing.
func (d *Reader) readArrays(
	ctx context.Context, p *poll, submitted uint64,
) (next uint32, missing uint64, err error) {
	next, missing = d.cursor+1, submitted
	for absent := 0; missing > maxExpandedTasks && absent < maxMissingIDs && next <= maxJobID; {
		var ids []uint32
		for range d.inFlight.limit {
			if next <= maxJobID {
				ids = append(ids, next)
				next++
			}
		}
		if err := d.readRecords(ctx, p, ids, nothingNext); err != nil {
			return next, missing, err
		}
		for _, id := range ids {
			if !p.markArrived(id) {
				absent++
				continue
			}
			missing -= min(missing, p.submittedAs(id))
		}
	}
	return next, missing, nil
}

func nothingNext(uint32) (uint32, bool) { return 0, false }

// readWindow reads the states of ids starting with first. It ends when a whole window has no job and it has checked as
// many ids as may have been taken since the last poll. Jobs that were submitted and purged in between leave gaps.
func (d *Reader) readWindow(ctx context.Context, p *poll, first, taken uint32) error {
	size := max(minWindow, d.windowSize)
	for from := first; from <= maxJobID; from += size {
		rows, err := d.readStates(ctx, idsBetween(from, min(from+size-1, maxJobID)))
		if err != nil {
			return err
		}
		if len(rows) == 0 && from-first >= taken {
			break
		}
		p.addWindow(rows)
	}
	d.windowSize = min(maxWindow, max(minWindow, uint32(2*len(p.fresh))))
	return nil
}

// tasksSubmitted returns how many jobs and array tasks were submitted between two readings of
// slurmctld's counters.
func tasksSubmitted(old, now *slurm.Stats) uint64 {
	return now.JobsSubmitted - min(now.JobsSubmitted, old.JobsSubmitted)
}

// idsTaken returns an upper bound of how many ids slurmctld assigned between two readings of its
// counters: one for each job or array submitted, and one for each task that started or was
// cancelled. submitted counts the jobs and tasks that have not been found yet.
func idsTaken(old, now *slurm.Stats, submitted uint64) uint32 {
	count := func(s *slurm.Stats) uint64 { return s.JobsStarted + s.JobsCanceled }
	moved := count(now) - min(count(now), count(old))
	return uint32(min(submitted+moved, maxTakenIDs))
}

// idsBetween lists the ids from first to last, both included.
func idsBetween(first, last uint32) []string {
	ids := make([]string, 0, last-first+1)
	for id := first; id <= last; id++ {
		ids = append(ids, strconv.FormatUint(uint64(id), 10))
	}
	return ids
}

// formatIDs returns the ids as a request names them.
func formatIDs(ids []uint32) []string {
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		out = append(out, strconv.FormatUint(uint64(id), 10))
	}
	return out
}

// readMissed checks the ids up to the newest record again. A job may have been submitted after the window was read and
// before a record with a greater id was read. Afterwards every record up to that id is known.
func (d *Reader) readMissed(ctx context.Context, p *poll, stats *slurm.Stats) error {
	top := p.newestRead()
	if top <= d.cursor {
		return nil
	}
	ids, err := d.findMissed(ctx, p, stats, p.unreadIDs(d.cursor+1, top))
	if err != nil {
		return err
	}
	if err := d.readRecords(ctx, p, ids, nothingNext); err != nil {
		return err
	}
	p.newestComplete = top
	return nil
}

// findMissed lists which of the unread ids must be read: the ids with a state, or all of them if a large array may be
// among them.
func (d *Reader) findMissed(
	ctx context.Context, p *poll, stats *slurm.Stats, unread []uint32,
) ([]uint32, error) {
	if len(unread) == 0 {
		return nil, nil
	}
	now, err := d.source.Stats(ctx)
	if err != nil {
		return nil, err
	}
	if tasksSubmitted(stats, now) > maxExpandedTasks {
		return unread, nil
	}
	rows, err := d.readStates(ctx, formatIDs(unread))
	if err != nil {
		return nil, err
	}
	return p.missedIDs(d.cursor+1, rows), nil
}

// markArrived reports whether a read id is a job, and marks the job as new. Otherwise it unmarks the id as read, since
// a job may get the id before the poll ends.
func (p *poll) markArrived(id uint32) bool {
	if p.read[id] == nil {
		delete(p.read, id)
		return false
	}
	p.inWindow[id] = true
	if records.FindJob(p.old, id) == nil {
		p.fresh[id] = true
	}
	return true
}

// submittedAs returns how many of the tasks submitted since the last poll a record represents. It returns 0 if the
// record was known or was split off a known array.
func (p *poll) submittedAs(id uint32) uint64 {
	j := p.read[id]
	if records.FindJob(p.old, id) != nil || j.ArrayJobID != 0 && j.ArrayJobID != id &&
		records.FindJob(p.old, j.ArrayJobID) != nil {
		return 0
	}
	return taskCount(j)
}

// unreadIDs lists the ids from first to last, both included, that this poll has not read.
func (p *poll) unreadIDs(first, last uint32) (ids []uint32) {
	for id := first; id <= last; id++ {
		if !p.hasRead(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

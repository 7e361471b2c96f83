package delta

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// keptRecords are the records that failed polls have read, so the next poll need not read them again. With a distant server, polls that
// begin from nothing might never succeed.
type keptRecords struct {
	jobs map[uint32]*slurm.Job
	// stats are the statistics of the first of these polls, which began at since.
	stats *slurm.Stats
	since time.Time
}

// addPoll keeps the records of a poll that failed after its stats.
func (k *keptRecords) addPoll(p *poll, stats *slurm.Stats, begin time.Time) {
	if k.stats == nil || hasRestarted(k.stats, stats) {
		*k = keptRecords{jobs: map[uint32]*slurm.Job{}, stats: stats, since: begin}
	}
	for id, j := range p.read {
		if j != nil {
			k.jobs[id] = j
		}
	}
}

// useKept takes the records that a poll wants from the kept ones, if their states are the same. It returns the ids whose records may have
// changed nevertheless. After an update of any job these are all pending jobs, otherwise the jobs that wait for a limit or another job.
func (d *Reader) useKept(p *poll, stats *slurm.Stats) (doubtful []uint32) {
	k := &d.kept
	if k.stats == nil || hasRestarted(k.stats, stats) {
		*k = keptRecords{}
		return nil
	}
	isUpdated := stats.JobUpdates() != k.stats.JobUpdates()
	for _, id := range p.wantedRecords() {
		j, row := k.jobs[id], p.rows[id]
		if j == nil || row == nil || p.hasRead(id) || p.hasChanged(j, row) {
			continue
		}
		p.addRecords(id, []*slurm.Job{j})
		if j.State.Base == slurm.JobPending && (isUpdated || j.Dependency != "" || heldByLimit(j)) {
			doubtful = append(doubtful, id)
		}
	}
	return doubtful
}

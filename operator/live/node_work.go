package live

import (
	"fmt"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Work is the work on one Slurm node, according to the job list.
type Work struct {
	// Jobs is the number of jobs that occupy the node.
	Jobs int
	// LastJob is the job that ends last, End the time at which it reaches its time limit. End is
	// zero if there is no limit or if it is unknown, as for a suspended job.
	LastJob uint32
	End     time.Time
}

// add adds a job that ends at the given time.
func (w Work) add(id uint32, end time.Time) Work {
	first := w.Jobs == 0
	w.Jobs++
	switch {
	case first, !w.End.IsZero() && (end.IsZero() || end.After(w.End)):
		w.LastJob, w.End = id, end
	}
	return w
}

// workOf returns the work on each Slurm node. If the nodes of one job cannot be determined, the
// work on all nodes is unknown, and problem names the job.
func workOf(jobs []*slurm.Job) (work map[string]Work, problem string) {
	work = map[string]Work{}
	for _, j := range jobs {
		if !holdsNodes(j) {
			continue
		}
		names, err := hostlist.All(j.Nodes)
		if err != nil {
			return nil, fmt.Sprintf("the nodes of job %d cannot be read: %v", j.ID, err)
		}
		if j.Nodes == "" {
			return nil, fmt.Sprintf("job %d is %s and has no list of nodes", j.ID, j.State)
		}
		end := endOfJob(j)
		for name := range names {
			work[name] = work[name].add(j.ID, end)
		}
	}
	return work, ""
}

// flagsOnNodes are the flags with which a job that has finished or was requeued may still occupy
// its nodes.
const flagsOnNodes = slurm.JobCompleting | slurm.JobConfiguring | slurm.JobStopped | slurm.JobResizing |
	slurm.JobPowerUpNode | slurm.JobSignaling | slurm.JobStageOut | slurm.JobOther

// holdsNodes reports whether a job occupies nodes or may do so according to its record. A job that
// names nodes counts unless it has finished. A running job counts even if it names no nodes,
// unless it has released all of them.
func holdsNodes(j *slurm.Job) bool {
	if j.Nodes != "" {
		return !j.State.Base.Finished() || j.State.Flags&flagsOnNodes != 0
	}
	count, known := j.NodeCount.Value()
	started := j.State.Base == slurm.JobRunning || j.State.Base == slurm.JobSuspended
	return started && !j.State.Has(slurm.JobRevoked) && (!known || count > 0)
}

// endOfJob returns the time at which the job reaches its time limit, or zero if it is unknown.
// Slurm also sets an end time for jobs without a limit.
func endOfJob(j *slurm.Job) time.Time {
	if j.State.Base == slurm.JobSuspended || j.TimeLimit.IsInfinite() || !j.EndTime.IsSet() {
		return time.Time{}
	}
	return j.EndTime.Time()
}

package live

import (
	"fmt"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Work is what the list of jobs has on one Slurm node.
type Work struct {
	// Jobs counts the jobs that hold it.
	Jobs int
	// LastJob is the job that ends last, End when its time limit does; zero for no
	// limit, or one that is not known, such as that of a suspended job.
	LastJob uint32
	End     time.Time
}

// add counts a job that ends then.
func (w Work) add(id uint32, end time.Time) Work {
	first := w.Jobs == 0
	w.Jobs++
	switch {
	case first, !w.End.IsZero() && (end.IsZero() || end.After(w.End)):
		w.LastJob, w.End = id, end
	}
	return w
}

// workOf is what the jobs do to Slurm nodes. One that cannot be placed leaves all
// of them unknown, and the problem says which.
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

// flagsOnNodes are flags with which a job that has ended, or is to run again, may still
// be on its nodes.
const flagsOnNodes = slurm.JobCompleting | slurm.JobConfiguring | slurm.JobStopped | slurm.JobResizing |
	slurm.JobPowerUpNode | slurm.JobSignaling | slurm.JobStageOut | slurm.JobOther

// holdsNodes reports whether a job is on nodes, or its record does not say that it is not.
// One that names nodes counts unless it has finished, and one that runs counts though
// it names none, unless it has given all of them back.
func holdsNodes(j *slurm.Job) bool {
	if j.Nodes != "" {
		return !j.State.Base.Finished() || j.State.Flags&flagsOnNodes != 0
	}
	count, told := j.NodeCount.Value()
	on := j.State.Base == slurm.JobRunning || j.State.Base == slurm.JobSuspended
	return on && !j.State.Has(slurm.JobRevoked) && (!told || count > 0)
}

// endOfJob is when the job's time limit ends, zero for not known. Slurm writes an end
// into jobs without a limit too.
func endOfJob(j *slurm.Job) time.Time {
	if j.State.Base == slurm.JobSuspended || j.TimeLimit.IsInfinite() || !j.EndTime.IsSet() {
		return time.Time{}
	}
	return j.EndTime.Time()
}

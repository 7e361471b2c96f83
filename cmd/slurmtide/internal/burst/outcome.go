package burst

import (
	"fmt"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Outcome is what is known of a shape that was submitted.
type Outcome struct {
	Shape
	// ID is Slurm's job id, 0 while it has none.
	ID uint32
	// Refused is why Slurm did not take it, empty when it did.
	Refused string
	// Pending, Running, Done and Failed count its jobs. Done ended by themselves with
	// exit code 0 at their first start; Failed are those that ended in another way, or
	// were started anew.
	Pending, Running, Done, Failed int
	// Cancelled: a job that can never run was taken back.
	Cancelled bool
	// Reason is why one that is pending waits, in Slurm's word.
	Reason string
	// Trouble tells of the first job that failed.
	Trouble string
}

// Missing is how many of its jobs Slurm does not know.
func (o Outcome) Missing() int {
	if o.Refused != "" && o.Unfit {
		return 0
	}
	return o.Tasks - o.Pending - o.Running - o.Done - o.Failed
}

// Over reports that nothing of it waits or runs any more, and all of it is accounted for.
func (o Outcome) Over() bool {
	switch {
	case o.Refused != "":
		return true
	case o.Unfit:
		return o.Cancelled
	}
	return o.Done+o.Failed >= o.Tasks
}

// See tells what becomes of an outcome when these are Slurm's jobs.
func (o Outcome) See(jobs []*slurm.Job) Outcome {
	if o.ID == 0 {
		return o
	}
	seen := Outcome{Shape: o.Shape, ID: o.ID, Refused: o.Refused, Cancelled: o.Cancelled}
	for _, j := range jobs {
		if j.ID == o.ID || j.ArrayJobID == o.ID {
			seen.add(j)
		}
	}
	return seen
}

func (o *Outcome) add(j *slurm.Job) {
	switch base := j.State.Base; {
	case base == slurm.JobPending:
		tasks, _ := demand.PendingTasks(j)
		o.Pending += int(tasks) //nolint:gosec // as many as were submitted
		o.Reason = j.Reason
		if j.Restarts > 0 {
			o.Trouble = fmt.Sprintf("job %d was requeued", j.ID)
		}
	case o.Unfit && base == slurm.JobCancelled:
		o.Cancelled = true
		o.Done++
	case !base.Finished() || j.State.Has(slurm.JobCompleting):
		o.Running++
	case base == slurm.JobCompleted && j.Restarts == 0:
		o.Done++
	default:
		o.Failed++
		o.Trouble = fmt.Sprintf("job %d is %s after %d restarts", j.ID, j.State, j.Restarts)
	}
}

// Count adds up what is pending, running and done, without what can never run.
func Count(outcomes []Outcome) (pending, running, done int) {
	for _, o := range outcomes {
		if o.Unfit {
			continue
		}
		pending += o.Pending
		running += o.Running
		done += o.Done + o.Failed
	}
	return pending, running, done
}

// Over reports that all that can run has run, and been accounted for.
func Over(outcomes []Outcome) bool {
	for _, o := range outcomes {
		if !o.Unfit && !o.Over() {
			return false
		}
	}
	return len(outcomes) > 0
}

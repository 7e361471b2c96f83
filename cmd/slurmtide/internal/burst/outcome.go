package burst

import (
	"fmt"

	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Outcome is the state of a submitted job template.
type Outcome struct {
	JobTemplate
	// ID is Slurm's job ID. It is 0 until the job is submitted.
	ID uint32
	// Refusal is why Slurm rejected the submission. It is empty when Slurm accepted it.
	Refusal string
	// Pending, Running, Done and Failed count jobs. Done jobs ended with exit code 0 without a
	// restart; Failed jobs ended in any other way or were restarted.
	Pending, Running, Done, Failed int
	// Cancelled is true when the demo has cancelled a job that can never run.
	Cancelled bool
	// Reason is Slurm's reason why the job is pending.
	Reason string
	// Failure describes the last failed or requeued job.
	Failure string
}

// Missing returns the number of jobs that Slurm does not know.
func (o Outcome) Missing() int {
	if o.Refusal != "" && o.NeverFits {
		return 0
	}
	return o.Tasks - o.Pending - o.Running - o.Done - o.Failed
}

// Finished reports whether every job has ended and is accounted for.
func (o Outcome) Finished() bool {
	switch {
	case o.Refusal != "":
		return true
	case o.NeverFits:
		return o.Cancelled
	}
	return o.Done+o.Failed >= o.Tasks
}

// UpdatedFrom returns the outcome according to Slurm's job records.
func (o Outcome) UpdatedFrom(jobs []*slurm.Job) Outcome {
	if o.ID == 0 {
		return o
	}
	updated := Outcome{JobTemplate: o.JobTemplate, ID: o.ID, Refusal: o.Refusal, Cancelled: o.Cancelled}
	for _, j := range jobs {
		if j.ID == o.ID || j.ArrayJobID == o.ID {
			updated.addJob(j)
		}
	}
	return updated
}

func (o *Outcome) addJob(j *slurm.Job) {
	switch base := j.State.Base; {
	case base == slurm.JobPending:
		tasks, _ := pending.CountTasks(j)
		o.Pending += int(tasks) //nolint:gosec // as many as were submitted
		o.Reason = j.Reason
		if j.Restarts > 0 {
			o.Failure = fmt.Sprintf("job %d was requeued", j.ID)
		}
	case o.NeverFits && base == slurm.JobCancelled:
		o.Cancelled = true
		o.Done++
	case !base.Finished() || j.State.Has(slurm.JobCompleting):
		o.Running++
	case base == slurm.JobCompleted && j.Restarts == 0:
		o.Done++
	default:
		o.Failed++
		o.Failure = fmt.Sprintf("job %d is %s after %d restarts", j.ID, j.State, j.Restarts)
	}
}

// CountJobs returns the number of pending, running and finished jobs, without those that can never
// run.
func CountJobs(outcomes []Outcome) (pending, running, done int) {
	for _, o := range outcomes {
		if o.NeverFits {
			continue
		}
		pending += o.Pending
		running += o.Running
		done += o.Done + o.Failed
	}
	return pending, running, done
}

// AllFinished reports whether every job that can run has ended and is accounted for.
func AllFinished(outcomes []Outcome) bool {
	for _, o := range outcomes {
		if !o.NeverFits && !o.Finished() {
			return false
		}
	}
	return len(outcomes) > 0
}

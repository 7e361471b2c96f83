// Package play submits the burst to an environment, observes it until all NodeSets are at zero
// again, and judges the result.
package play

import (
	"context"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/burst"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Environment runs jobs on workers that scale up and down. Its methods must be safe for concurrent
// use.
type Environment interface {
	// Submit submits a job as sbatch does and returns its ID.
	Submit(ctx context.Context, s burst.JobTemplate) (uint32, error)
	// Cancel cancels a job.
	Cancel(ctx context.Context, id uint32) error
	// Observe reads everything once. If it fails partly, it returns the parts that it could read, marks the rest as
	// unknown, and returns the error.
	Observe(ctx context.Context) (Observation, error)
}

// Observation is the state of an environment at one time.
type Observation struct {
	// Sample lacks the time and the job counts.
	Sample timeline.Sample
	// Jobs are Slurm's records. They are valid only if JobsKnown is true.
	Jobs      []*slurm.Job
	JobsKnown bool
	// Unsatisfiable is the number of jobs that the autoscaling metrics report as unsatisfiable.
	Unsatisfiable timeline.Reading
}

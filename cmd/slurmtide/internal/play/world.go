// Package play submits the burst to a world, looks on until all is at zero again, and
// judges.
package play

import (
	"context"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/burst"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// World is where jobs run on workers that come and go. Its methods may be called from
// several goroutines.
type World interface {
	// Submit submits a job as sbatch does and returns its id.
	Submit(ctx context.Context, s burst.Shape) (uint32, error)
	// Cancel takes a job back.
	Cancel(ctx context.Context, id uint32) error
	// Look reads everything once. With an error what could be read is there all the
	// same, and the rest says that it is not known.
	Look(ctx context.Context) (Seen, error)
}

// Seen is what a world was at a moment.
type Seen struct {
	// Sample has no time, and no counts of jobs.
	Sample timeline.Sample
	// Jobs are Slurm's records; they mean nothing unless JobsKnown.
	Jobs      []*slurm.Job
	JobsKnown bool
	// Unsatisfiable is how many jobs the autoscaler's metrics call so.
	Unsatisfiable timeline.Reading
}

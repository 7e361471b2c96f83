package demand

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// ComputeWithin is Compute with a work budget of that many steps. It also returns how many steps are left.
func ComputeWithin(steps int, now time.Time, s *slurmclient.Snapshot, pools ...Pool) (Demand, int) {
	work := newWorkBudget(steps, nil)
	d := compute(work, now, s, pools)
	return d, work.left
}

// MaxSteps is the work budget of Compute.
const MaxSteps = maxSteps

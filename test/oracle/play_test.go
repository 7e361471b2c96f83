//go:build e2e

package oracle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// Round is the result of a scenario.
type Round struct {
	Scene
	Snapshot *slurmclient.Snapshot
	Demand   demand.Demand
	// Required and All are what Slurm did on the required workers, and on all workers.
	Required, All Trial
	Least         []uint64
	Verdict       Verdict
}

// runScenario runs a scenario on its variant, without the jobs that Slurm gives up on.
func (l *lane) playOn(ctx context.Context, scenario Scene) (Round, error) {
	if l.variant == nil || l.variant.Name != scenario.Variant.Name {
		if err := l.setVariant(ctx, scenario.Variant); err != nil {
			return Round{}, fmt.Errorf("restarting slurmctld as %s: %w", scenario.Variant.Name, err)
		}
	}
	for {
		r, err := l.playAgain(ctx, scenario)
		var failed givenUp
		if !errors.As(err, &failed) {
			return r, err
		}
		scenario = scenario.withoutJobs(failed)
	}
}

// maxRuns is how many times a failing scenario runs: on a busy machine slurmctld can do twice what
// it usually does not do.
const mostPlays = 3

// runRepeatedly runs a scenario, and repeats it while it fails. A failure of all runs counts.
func (l *lane) playAgain(ctx context.Context, scenario Scene) (Round, error) {
	for n := 1; ; n++ {
		r, err := l.play(ctx, scenario)
		if err != nil || !r.Verdict.Fails() || n == mostPlays {
			r.Verdict.Unsteady = err == nil && n > 1 && !r.Verdict.Fails()
			return r, err
		}
	}
}

// runRound runs a scenario on the current variant.
func (l *lane) play(ctx context.Context, scenario Scene) (Round, error) {
	r := Round{Scene: scenario}
	if err := l.ask(ctx, &r); err != nil {
		return r, err
	}
	r.Required.Up = l.requiredWorkers(r.Demand)
	if err := l.schedule(ctx, &r.Required, Trial{}); err != nil {
		return r, err
	}
	var err error
	if r.All, err = l.playTrial(ctx, scenario, l.all(), Trial{}); err != nil {
		return r, err
	}
	from := r.Required.Up
	if len(missing(r.All, r.Required)) > 0 {
		from = r.All.Up
	}
	r.Least, err = findLeast(from, func(up []uint64) (bool, error) {
		if !scenario.keepsWorkers(up) {
			return false, nil
		}
		trial, err := l.playTrial(ctx, scenario, up, r.All)
		return len(missing(r.All, trial)) == 0, err
	})
	r.Verdict = judge(r.Required, r.All, r.Least, unmodelled(r.Demand))
	return r, err
}

// countUnmodelled returns how many jobs demand does not model. Enforcement of limits is known here.
func unmodelled(d demand.Demand) (jobs uint64) {
	for _, p := range d.Pools {
		for why, n := range p.Unmodelled {
			if why != demand.DeviationEnforcement {
				jobs += n
			}
		}
	}
	return jobs
}

// computeDemand submits the jobs and computes demand.
func (l *lane) ask(ctx context.Context, r *Round) error {
	if err := l.submitScene(ctx, r.Scene); err != nil {
		return err
	}
	var err error
	if r.Snapshot, err = l.read(ctx); err != nil {
		return err
	}
	r.Demand = demand.Compute(time.Now(), r.Snapshot, r.Variant.Pools...)
	return nil
}

// requiredWorkers returns the number of workers that demand requires of each pool, but not fewer
// than exist. With the flag it is wrong on purpose.
func (l *lane) requiredWorkers(d demand.Demand) (up []uint64) {
	for i, p := range d.Pools {
		n := p.Required
		switch *required {
		case "+1":
			n++
		case "-1":
			n -= min(n, 1)
		}
		up = append(up, max(l.up[i], min(n, l.variant.Pools[i].Max)))
	}
	return up
}

// shortenQueue minimises the queue of a failing round.
func (l *lane) shorten(ctx context.Context, r Round) (Round, error) {
	scenario := r.Scene
	var err error
	scenario.Queue, err = minimise(r.Queue, func(queue []Job) (bool, error) {
		shorter := r.Scene
		shorter.Queue = queue
		again, err := l.playOn(ctx, shorter)
		return again.Verdict.Fails() && again.Verdict.Dear == r.Verdict.Dear, err
	})
	if err != nil {
		return r, err
	}
	return l.playOn(ctx, scenario)
}

//go:build e2e

package oracle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// Round is the result of a scenario.
type Round struct {
	Scenario
	Snapshot *slurmclient.Snapshot
	Demand   demand.Demand
	// Required, Grown and All are what Slurm did on the required workers, on those that demand then
	// required, and on all workers.
	Required, Grown, All Trial
	Least                []uint64
	Verdict              Verdict
}

// runScenario runs a scenario on its variant, without the jobs that Slurm gives up on.
func (l *slurmEnv) runScenario(ctx context.Context, scenario Scenario) (Round, error) {
	if l.variant == nil || l.variant.Name != scenario.Variant.Name {
		if err := l.setVariant(ctx, scenario.Variant); err != nil {
			return Round{}, fmt.Errorf("restarting slurmctld as %s: %w", scenario.Variant.Name, err)
		}
	}
	for {
		r, err := l.runRepeatedly(ctx, scenario)
		var failed givenUpError
		if !errors.As(err, &failed) {
			return r, err
		}
		scenario = scenario.withoutJobs(failed)
	}
}

// maxRuns is how many times a failing scenario runs, because slurmctld can fail twice by chance on a busy machine.
const maxRuns = 3

// runRepeatedly runs a scenario, and repeats it while it fails. A failure of all runs counts.
func (l *slurmEnv) runRepeatedly(ctx context.Context, scenario Scenario) (Round, error) {
	for n := 1; ; n++ {
		r, err := l.runRound(ctx, scenario)
		if err != nil || !r.Verdict.Fails() || n == maxRuns {
			r.Verdict.Unsteady = r.Verdict.Unsteady || err == nil && n > 1 && !r.Verdict.Fails()
			return r, err
		}
	}
}

// runRound runs a scenario on the current variant.
func (l *slurmEnv) runRound(ctx context.Context, scenario Scenario) (Round, error) {
	r := Round{Scenario: scenario}
	if err := l.computeDemand(ctx, &r); err != nil {
		return r, err
	}
	r.Required.Up = l.requiredWorkers(r.Demand)
	if err := l.schedule(ctx, &r.Required, Trial{}); err != nil {
		return r, err
	}
	var err error
	if r.All, err = l.runTrial(ctx, scenario, l.allUp(), Trial{}); err != nil {
		return r, err
	}
	from := r.Required.Up
	r.Grown = r.Required
	if len(missingJobs(r.All, r.Required)) > 0 {
		from = r.All.Up
		if r.Grown, err = l.growWorkers(ctx, r); err != nil {
			return r, err
		}
	}
	r.Least, err = findFewestWorkers(from, func(up []uint64) (bool, error) {
		if !scenario.keepsWorkers(up) {
			return false, nil
		}
		trial, err := l.runTrial(ctx, scenario, up, r.All)
		return len(missingJobs(r.All, trial)) == 0, err
	})
	r.Verdict = judgeRound(r.Required, r.Grown, r.All, r.Least, countUnmodelled(r.Demand))
	return r, err
}

// growWorkers repeats the trial on the required workers. While jobs are missing, it adds the workers
// that demand requires beside the jobs that run by then, like an HPA does.
func (l *slurmEnv) growWorkers(ctx context.Context, r Round) (Trial, error) {
	trial, err := l.runTrial(ctx, r.Scenario, r.Required.Up, r.All)
	for err == nil && len(missingJobs(r.All, trial)) > 0 {
		var snapshot *slurmclient.Snapshot
		if snapshot, err = l.readSnapshot(ctx); err != nil {
			return trial, err
		}
		up := l.requiredWorkers(demand.Compute(time.Now(), snapshot, r.Variant.Pools...))
		if slices.Equal(up, trial.Up) {
			break
		}
		trial.Up = up
		err = l.schedule(ctx, &trial, r.All)
	}
	return trial, err
}

// countUnmodelled returns how many jobs demand does not model. Enforcement of limits is known here.
func countUnmodelled(d demand.Demand) (jobs uint64) {
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
func (l *slurmEnv) computeDemand(ctx context.Context, r *Round) error {
	if err := l.submitScenario(ctx, r.Scenario); err != nil {
		return err
	}
	var err error
	if r.Snapshot, err = l.readSnapshot(ctx); err != nil {
		return err
	}
	r.Demand = demand.Compute(time.Now(), r.Snapshot, r.Variant.Pools...)
	return nil
}

// requiredWorkers returns the number of workers that demand requires of each pool, but not fewer
// than exist. With the flag it is wrong on purpose.
func (l *slurmEnv) requiredWorkers(d demand.Demand) (up []uint64) {
	for i, p := range d.Pools {
		n := p.Required
		switch *required {
		case "+1":
			n++
		case "-1":
			n -= min(n, 1)
		}
		up = append(up, max(l.workersUp[i], min(n, l.variant.Pools[i].Max)))
	}
	return up
}

// shortenQueue minimises the queue of a failing round.
func (l *slurmEnv) shortenQueue(ctx context.Context, r Round) (Round, error) {
	scenario := r.Scenario
	var err error
	scenario.Queue, err = minimiseQueue(r.Queue, func(queue []Job) (bool, error) {
		shorter := r.Scenario
		shorter.Queue = queue
		again, err := l.runScenario(ctx, shorter)
		return again.Verdict.Fails() && again.Verdict.Excessive == r.Verdict.Excessive, err
	})
	if err != nil {
		return r, err
	}
	return l.runScenario(ctx, scenario)
}

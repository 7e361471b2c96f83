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

// Round is what came of a scene.
type Round struct {
	Scene
	Snapshot *slurmclient.Snapshot
	Demand   demand.Demand
	// Required and All are what Slurm did on the required workers, and on all.
	Required, All Trial
	Least         []uint64
	Verdict       Verdict
}

// playOn plays a scene on its variant, without the jobs that Slurm gives up on.
func (l *lane) playOn(ctx context.Context, scene Scene) (Round, error) {
	if l.variant == nil || l.variant.Name != scene.Variant.Name {
		if err := l.setVariant(ctx, scene.Variant); err != nil {
			return Round{}, fmt.Errorf("restarting slurmctld as %s: %w", scene.Variant.Name, err)
		}
	}
	for {
		r, err := l.playAgain(ctx, scene)
		var failed givenUp
		if !errors.As(err, &failed) {
			return r, err
		}
		scene = scene.withoutJobs(failed)
	}
}

// mostPlays is how many times a scene is played that fails: on a busy machine slurmctld may do twice
// what it does not do else.
const mostPlays = 3

// playAgain plays a scene, and again while it fails. What holds each time is judged.
func (l *lane) playAgain(ctx context.Context, scene Scene) (Round, error) {
	for n := 1; ; n++ {
		r, err := l.play(ctx, scene)
		if err != nil || !r.Verdict.Fails() || n == mostPlays {
			r.Verdict.Unsteady = err == nil && n > 1 && !r.Verdict.Fails()
			return r, err
		}
	}
}

// play plays a scene on the variant that the lane has.
func (l *lane) play(ctx context.Context, scene Scene) (Round, error) {
	r := Round{Scene: scene}
	if err := l.ask(ctx, &r); err != nil {
		return r, err
	}
	r.Required.Up = l.requiredWorkers(r.Demand)
	if err := l.schedule(ctx, &r.Required, Trial{}); err != nil {
		return r, err
	}
	var err error
	if r.All, err = l.playTrial(ctx, scene, l.all(), Trial{}); err != nil {
		return r, err
	}
	from := r.Required.Up
	if len(missing(r.All, r.Required)) > 0 {
		from = r.All.Up
	}
	r.Least, err = findLeast(from, func(up []uint64) (bool, error) {
		if !scene.keepsWorkers(up) {
			return false, nil
		}
		trial, err := l.playTrial(ctx, scene, up, r.All)
		return len(missing(r.All, trial)) == 0, err
	})
	r.Verdict = judge(r.Required, r.All, r.Least, unmodelled(r.Demand))
	return r, err
}

// unmodelled is how many jobs demand says not to model. That limits are enforced here is known.
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

// ask submits the jobs and computes demand.
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

// requiredWorkers is the number of workers that demand requires of each pool, and no less than
// are there; with the flag it is wrong on purpose.
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

// shorten makes the queue of a round that fails as short as it can be.
func (l *lane) shorten(ctx context.Context, r Round) (Round, error) {
	scene := r.Scene
	var err error
	scene.Queue, err = minimise(r.Queue, func(queue []Job) (bool, error) {
		shorter := r.Scene
		shorter.Queue = queue
		again, err := l.playOn(ctx, shorter)
		return again.Verdict.Fails() && again.Verdict.Dear == r.Verdict.Dear, err
	})
	if err != nil {
		return r, err
	}
	return l.playOn(ctx, scene)
}

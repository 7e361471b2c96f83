//go:build e2e

package oracle

import (
	"context"
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

// play plays a scene whose variant the lane has.
func (l *lane) play(ctx context.Context, scene Scene) (Round, error) {
	r := Round{Scene: scene}
	if err := l.ask(ctx, &r); err != nil {
		return r, err
	}
	r.Required.Up = required(r.Demand)
	if err := l.schedule(ctx, &r.Required); err != nil {
		return r, err
	}
	var err error
	if r.All, err = l.try(ctx, scene.Queue, l.all()); err != nil {
		return r, err
	}
	r.Least = r.Required.Up
	if len(missing(r.All, r.Required)) == 0 {
		r.Least, err = findLeast(r.Required.Up, func(up []uint64) (bool, error) {
			trial, err := l.try(ctx, scene.Queue, up)
			return len(missing(r.All, trial)) == 0, err
		})
	}
	r.Verdict = judge(r.Required, r.All, r.Least, unmodelled(r.Demand))
	return r, err
}

// unmodelled is how many jobs demand says not to model.
func unmodelled(d demand.Demand) (jobs uint64) { return 0 }

// ask submits the queue and computes demand once the scheduler has looked at it.
func (l *lane) ask(ctx context.Context, r *Round) error {
	if err := l.submit(r.Queue); err != nil {
		return err
	}
	if err := l.awaitScheduler(ctx); err != nil {
		return err
	}
	var err error
	if r.Snapshot, err = l.read(ctx); err != nil {
		return err
	}
	r.Demand = demand.Compute(time.Now(), r.Snapshot, r.Variant.Pools...)
	return nil
}

// required is the number of workers that demand requires of each pool.
func required(d demand.Demand) []uint64 {
	var up []uint64
	for _, p := range d.Pools {
		up = append(up, p.Required)
	}
	return up
}

// fails plays a queue of the scene and tells whether it fails as the round did.
func (l *lane) fails(ctx context.Context, of Round) func([]Job) (bool, error) {
	return func(queue []Job) (bool, error) {
		scene := of.Scene
		scene.Queue = queue
		r, err := l.play(ctx, scene)
		return r.Verdict.Fails() && r.Verdict.Dear == of.Verdict.Dear, err
	}
}

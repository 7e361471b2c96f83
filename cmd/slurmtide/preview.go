package main

import (
	"context"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/local"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/play"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
)

// previewDelay is how long Kubernetes must have been building before the preview begins. A machine that has built it
// before needs less.
const previewDelay = 5 * time.Second

// runStepsWithPreview runs the steps. On a machine that has to build Kubernetes first, it calls
// preview meanwhile, whose context ends with the steps.
func runStepsWithPreview(ctx context.Context, show func([]steps.Status), todo []steps.Step,
	preview func(context.Context)) error {
	ctx, stop := context.WithCancel(ctx)
	building, built := context.WithCancel(ctx)
	var previewing sync.WaitGroup
	defer previewing.Wait()
	defer built()
	defer stop()
	var once sync.Once
	return steps.Run(ctx, time.Now, todo, func(board []steps.Status) {
		show(board)
		switch stateOf(board, local.BuildKubernetes) {
		case steps.Running:
			once.Do(func() {
				previewing.Go(func() {
					select {
					case <-building.Done():
					case <-time.After(previewDelay):
						preview(ctx)
					}
				})
			})
		case steps.Done, steps.Failed:
			built()
		}
	})
}

// stateOf returns the state of a step, which is Waiting if there is no such step.
func stateOf(board []steps.Status, name string) steps.State {
	for _, s := range board {
		if s.Name == name {
			return s.State
		}
	}
	return steps.Waiting
}

// playPreview plays the burst in a simulation until the context ends. An error is shown, and does not end the demo.
func playPreview(ctx context.Context, show func(play.View)) {
	world, err := newSimulation(ctx)
	if err != nil {
		show(play.View{Err: err})
		return
	}
	defer world.Close()
	if steps.Run(ctx, time.Now, world.Steps(), func([]steps.Status) {}) != nil {
		return // the context has ended
	}
	_, _ = play.Run(ctx, world, playConfig(show)) // its only error is that the context has ended
}

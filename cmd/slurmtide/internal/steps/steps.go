// Package steps runs steps in order and reports their progress.
package steps

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Progress is the progress of a step.
type Progress struct {
	// Done of Total parts are done. A Total of 0 means that the total is unknown.
	Done, Total int
	// Text describes the current work.
	Text string
}

// Step is one unit of work.
type Step struct {
	Name string
	// Do blocks until the work is done. It may report its progress, from one goroutine at a time.
	Do func(ctx context.Context, report func(Progress)) error
}

// State is the state of a step.
type State uint8

// The states.
const (
	Waiting State = iota
	Running
	Done
	Failed
)

// Status is a step and its current state.
type Status struct {
	Name  string
	State State
	// Began is the start time and Took the duration. Both are zero before the step starts.
	Began    time.Time
	Took     time.Duration
	Progress Progress
}

// Run runs the steps in order and stops at the first error, which it wraps with the name of the
// step. It calls show after each change, from one goroutine at a time. show owns the slice that it
// receives.
func Run(ctx context.Context, now func() time.Time, todo []Step, show func([]Status)) error {
	board := make([]Status, len(todo))
	for i, s := range todo {
		board[i].Name = s.Name
	}
	notify := func() { show(slices.Clone(board)) }
	for i, s := range todo {
		board[i].State, board[i].Began = Running, now()
		notify()
		err := s.Do(ctx, func(p Progress) { board[i].Progress = p; notify() })
		board[i].Took = now().Sub(board[i].Began)
		board[i].State = Done
		if err != nil {
			board[i].State = Failed
		}
		notify()
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return ctx.Err()
}

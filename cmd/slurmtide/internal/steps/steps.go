// Package steps runs what has to be done one after the other, and tells how far it is.
package steps

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Progress is how far a step is.
type Progress struct {
	// Done of Total parts are done; a Total of 0 is not known.
	Done, Total int
	// Text tells what is being done.
	Text string
}

// Step is one thing to do.
type Step struct {
	Name string
	// Do does it, and returns when it is done. It may tell how far it is, from one
	// goroutine at a time.
	Do func(ctx context.Context, tell func(Progress)) error
}

// State is how a step stands.
type State uint8

// The states.
const (
	Waiting State = iota
	Running
	Done
	Failed
)

// Status is a step at a moment.
type Status struct {
	Name  string
	State State
	// Began is when it began, Took how long it took; both are zero before.
	Began    time.Time
	Took     time.Duration
	Progress Progress
}

// Run does the steps in order, and ends with the first error, which names the step. show
// is called, from one goroutine at a time, whenever something has changed; what it gets
// is its own.
func Run(ctx context.Context, now func() time.Time, todo []Step, show func([]Status)) error {
	board := make([]Status, len(todo))
	for i, s := range todo {
		board[i].Name = s.Name
	}
	told := func() { show(slices.Clone(board)) }
	for i, s := range todo {
		board[i].State, board[i].Began = Running, now()
		told()
		err := s.Do(ctx, func(p Progress) { board[i].Progress = p; told() })
		board[i].Took = now().Sub(board[i].Began)
		board[i].State = Done
		if err != nil {
			board[i].State = Failed
		}
		told()
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return ctx.Err()
}

package slurmclient

import "time"

// Observer is told of every request to slurmrestd and of every poll, so that
// metrics can be kept without this package knowing of any metrics library. Its
// methods are called from many goroutines and must not block.
type Observer interface {
	// Request reports one HTTP request: the operation ("get nodes"), the HTTP
	// status (0 when there was no answer), how long it took until the body was
	// read, and the bytes of the body.
	Request(op string, status int, took time.Duration, bytes int64)
	// Polled reports one poll of a resource: err is nil when it succeeded, also
	// when nothing had changed. A poll that panicked fails with an error in which
	// PanicOf finds the stack.
	Polled(r Resource, took time.Duration, err error)
}

type noObserver struct{}

func (noObserver) Request(string, int, time.Duration, int64) {}
func (noObserver) Polled(Resource, time.Duration, error)     {}

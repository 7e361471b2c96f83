package slurmclient

import "time"

// Observer is called for every request to slurmrestd and for every poll, so that a program can
// record metrics while this package depends on no metrics library. Its methods are called from many
// goroutines and must not block.
type Observer interface {
	// Request reports one HTTP request: the operation (such as "nodes"), the HTTP status (0 if
	// there was no answer), the time until the body had been read, and the size of the body.
	Request(op string, status int, took time.Duration, bytes int64)
	// Polled reports one poll of a resource. err is nil if the poll succeeded, also if nothing
	// had changed. For a poll that panicked, PanicOf returns the panic with its stack.
	Polled(r Resource, took time.Duration, err error)
}

type noObserver struct{}

func (noObserver) Request(string, int, time.Duration, int64) {}
func (noObserver) Polled(Resource, time.Duration, error)     {}

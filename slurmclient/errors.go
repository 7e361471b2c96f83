package slurmclient

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// Code is the kind of failure that an Error reports. Callers compare codes and never text.
type Code string

// The codes of an Error.
const (
	// CodeNotFound means that the object does not exist. It is never returned for a query that
	// failed.
	CodeNotFound Code = "not found"
	// CodeUnauthorized means that the token is missing, expired or badly signed, or that its
	// user is not allowed to do this.
	CodeUnauthorized Code = "unauthorised"
	// CodeUnavailable means that slurmrestd, slurmctld or slurmdbd did not answer, or that the
	// answer cannot be read. The requested change may or may not have happened.
	CodeUnavailable Code = "unavailable"
	// CodeInvalid means that the server understood the request and refused it because of bad
	// input or state.
	CodeInvalid Code = "invalid"
	// CodeUnchanged means that nothing changed since the given time. It is not a failure.
	CodeUnchanged Code = "unchanged"
	// CodeConflict means that the object is busy, exists already, or is in a state that forbids
	// the change for now.
	CodeConflict Code = "conflict"
	// CodeUnsupported means that the server's API version does not support the operation.
	CodeUnsupported Code = "unsupported"
	// CodeNoAccounting means that the cluster has no slurmdbd, and therefore no accounts, users,
	// associations and QOS. It is never returned for a slurmdbd that is down.
	CodeNoAccounting Code = "no accounting"
	// CodePanic means that the code that reads the answer panicked. Err is the *Panic.
	CodePanic Code = "panic"
)

// Error is the only error type of this package. Its text never contains a token.
type Error struct {
	Code Code
	// Op is the operation that failed, a gerund such as "listing nodes".
	Op string
	// Status is the HTTP status, 0 when there was no answer.
	Status int
	// Number is Slurm's error number, 0 if the answer had no number.
	Number int
	// Message is Slurm's text or a description of what went wrong.
	Message string
	// RetryAfter is how long the server asks to wait before the next request, 0 when it does not.
	RetryAfter time.Duration
	// Err is the cause, when there is one.
	Err error
}

// Error returns one line with the operation, the code and what went wrong.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	b.WriteString(": ")
	b.WriteString(string(e.Code))
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	switch {
	case e.Number != 0 && e.Status != 0:
		fmt.Fprintf(&b, " (HTTP %d, Slurm error %d)", e.Status, e.Number)
	case e.Status != 0:
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first Error in err's chain, or "" if the chain has no Error.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Panic is a panic that ended one operation instead of the program: a defect of the program that
// some data of the server exposed.
type Panic struct {
	// Value is the value of the panic. Stack is the stack of its goroutine, for logs.
	Value any
	Stack []byte
}

// Error returns one line without the stack.
func (p *Panic) Error() string { return fmt.Sprint("panic: ", p.Value) }

// PanicOf returns the panic in err's chain, or nil if the chain has no panic.
func PanicOf(err error) *Panic {
	var p *Panic
	errors.As(err, &p)
	return p
}

// IsNotFound reports whether the object does not exist.
func IsNotFound(err error) bool { return CodeOf(err) == CodeNotFound }

// IsUnchanged reports whether nothing changed.
func IsUnchanged(err error) bool { return CodeOf(err) == CodeUnchanged }

// IsConflict reports whether the state of the object forbids the change for now.
func IsConflict(err error) bool { return CodeOf(err) == CodeConflict }

// Guard calls f. If f panics, Guard returns an error with CodePanic; PanicOf returns its stack. op names the work of f,
// such as "computing the demand".
//
// Programs that serve several clusters guard the computations for each cluster. A defect that one cluster's data expose
// then affects only that cluster.
func Guard(op string, f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Error{Code: CodePanic, Op: op, Err: &Panic{Value: v, Stack: debug.Stack()}}
		}
	}()
	f()
	return nil
}

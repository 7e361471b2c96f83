package slurmclient

import (
	"errors"
	"fmt"
	"strings"
)

// Code says what kind of failure an Error is. Callers branch on it and never on text.
type Code string

// The codes of an Error.
const (
	// CodeNotFound: the object does not exist. Never returned for a failed query.
	CodeNotFound Code = "not found"
	// CodeUnauthorized: the token is missing, expired, badly signed, or its user
	// may not do this.
	CodeUnauthorized Code = "unauthorised"
	// CodeUnavailable: the server, slurmctld or slurmdbd did not answer, or gave an
	// answer that cannot be read. What was asked for may or may not have happened.
	CodeUnavailable Code = "unavailable"
	// CodeInvalid: the server understood and refused: bad input or state.
	CodeInvalid Code = "invalid"
	// CodeUnchanged: nothing changed since the given time. Not a failure.
	CodeUnchanged Code = "unchanged"
	// CodeConflict: the object is busy, exists already, or is in a state that
	// forbids the change now.
	CodeConflict Code = "conflict"
	// CodeUnsupported: the server's API version cannot do this.
	CodeUnsupported Code = "unsupported"
	// CodeNoAccounting: the cluster has no slurmdbd, so there are no accounts, users,
	// associations and QOS. Never returned for a slurmdbd that is away.
	CodeNoAccounting Code = "no accounting"
	// CodePanic: the code that reads the answer panicked. Err is the *Panic.
	CodePanic Code = "panic"
)

// Error is the one error type of this package. Its text holds no token.
type Error struct {
	Code Code
	// Op is what was being done, a gerund such as "listing nodes".
	Op string
	// Status is the HTTP status, 0 when there was no answer.
	Status int
	// Number is Slurm's error number, 0 when it gave none.
	Number int
	// Message is Slurm's own text or a description of what went wrong.
	Message string
	// Err is the cause, when there is one.
	Err error
}

// Error returns one line that tells what was tried, what happened and the code.
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

// CodeOf returns the code of the first Error in err's chain, or "" when there is none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Panic is a panic that ended one poll instead of the program: a defect of this
// library that an answer of the server brought to light.
type Panic struct {
	// Value is what the code panicked with, Stack the stack of its goroutine, for logs.
	Value any
	Stack []byte
}

// Error returns one line without the stack.
func (p *Panic) Error() string { return fmt.Sprint("panic: ", p.Value) }

// PanicOf returns the panic in err's chain, or nil when there is none.
func PanicOf(err error) *Panic {
	var p *Panic
	errors.As(err, &p)
	return p
}

// IsNotFound reports whether err says that the object does not exist.
func IsNotFound(err error) bool { return CodeOf(err) == CodeNotFound }

// IsUnchanged reports whether err says that nothing changed.
func IsUnchanged(err error) bool { return CodeOf(err) == CodeUnchanged }

// IsUnauthorized reports whether err says that the token or its user was refused.
func IsUnauthorized(err error) bool { return CodeOf(err) == CodeUnauthorized }

// IsUnavailable reports whether err says that no usable answer came.
func IsUnavailable(err error) bool { return CodeOf(err) == CodeUnavailable }

// IsConflict reports whether err says that the object's state forbids it now.
func IsConflict(err error) bool { return CodeOf(err) == CodeConflict }

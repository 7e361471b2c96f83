// Package problem has the error for faults that only a user can correct, such as a missing object: a
// reconciler changes nothing and reports it in the condition Ready. It is pure.
package problem

import (
	"errors"
	"fmt"
)

// Error is such an error.
type Error struct {
	// Reason is a reason of the condition Ready.
	Reason string
	// Message contains no secret and nothing that differs between attempts.
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// New returns an error with a formatted message.
func New(reason, format string, args ...any) error {
	return &Error{reason, fmt.Sprintf(format, args...)}
}

// Split returns the *Error in err, or else err.
func Split(err error) (*Error, error) {
	var reported *Error
	if errors.As(err, &reported) {
		return reported, nil
	}
	return nil, err
}

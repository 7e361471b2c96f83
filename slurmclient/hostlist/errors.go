package hostlist

import "fmt"

// MaxNames is the maximum number of names in an expression.
const MaxNames = 1 << 20

// MaxNameLength is the maximum length of a name in bytes.
const MaxNameLength = 255

// SyntaxError is an error at one position of an expression.
type SyntaxError struct {
	// Offset is the position in the expression, in bytes from 0.
	Offset int
	// Reason describes the error.
	Reason string

	near string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("reading a hostlist: %s at byte %d, near %q", e.Reason, e.Offset, e.near)
}

// LimitError reports that an expression has more than MaxNames names.
type LimitError struct {
	// Offset is the start of the element that exceeds the limit, in bytes from 0.
	Offset int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("reading a hostlist: more than %d names with the element at byte %d", MaxNames, e.Offset)
}

package hostlist

import "fmt"

// MaxNames is how many names an expression may stand for.
const MaxNames = 1 << 20

// MaxNameLength is how many bytes a name may have.
const MaxNameLength = 255

// SyntaxError says what is wrong with an expression and where.
type SyntaxError struct {
	// Offset is the place in the expression, in bytes from 0.
	Offset int
	// Reason is what is wrong there.
	Reason string

	near string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("reading a hostlist: %s at byte %d, near %q", e.Reason, e.Offset, e.near)
}

// LimitError says that an expression stands for more than MaxNames names.
type LimitError struct {
	// Offset is where the element begins that is one too many, in bytes from 0.
	Offset int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("reading a hostlist: more than %d names with the element at byte %d", MaxNames, e.Offset)
}

package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// errTruncated means that the bytes end before the value does, so that more must be read.
var errTruncated = errors.New("the answer ends in the middle of a value")

// SyntaxError reports JSON that cannot be read.
type SyntaxError struct{ Reason string }

// Error returns what is wrong with the JSON.
func (e *SyntaxError) Error() string { return "malformed JSON: " + e.Reason }

func syntaxError(format string, args ...any) error {
	return &SyntaxError{fmt.Sprintf(format, args...)}
}

// maxDepth limits the nesting of values. The depth of real answers is less than 12.
const maxDepth = 64

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// skipSpace returns the first position from i on that is not white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// skipString returns the position after the string that begins at b[i] == '"'.
func skipString(b []byte, i int) (int, error) {
	for j := i + 1; ; j++ {
		n := bytes.IndexByte(b[j:], '"')
		if n < 0 {
			return 0, errTruncated
		}
		j += n
		slashes := 0
		for k := j - 1; k > i && b[k] == '\\'; k-- {
			slashes++
		}
		if slashes%2 == 0 {
			return j + 1, nil
		}
	}
}

// skipValue returns the position after the value that begins at b[i]. A scalar is only complete if
// another byte follows it.
func skipValue(b []byte, i int) (int, error) {
	if i >= len(b) {
		return 0, errTruncated
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{' || c == '[':
		return skipContainer(b, i)
	case c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z':
		return skipScalar(b, i)
	}
	return 0, syntaxError("a value begins with %q", b[i])
}

func skipScalar(b []byte, i int) (int, error) {
	for j := i; j < len(b); j++ {
		switch c := b[j]; {
		case c == ',' || c == '}' || c == ']' || isSpace(c):
			return j, nil
		case c < '!' || c > '~' || c == '"' || c == ':' || c == '{' || c == '[':
			return 0, syntaxError("%q inside a number or literal", c)
		}
	}
	return 0, errTruncated
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// skipContainer returns the position after the object or array that begins at b[i]. It searches eight
// bytes at once for a quote or a bracket: { } [ ] and few other bytes become 0x7F when OR-ed with 0x26.
func skipContainer(b []byte, i int) (int, error) {
	var kinds uint64 // one bit per open container: 1 for an object
	depth := 0
	for i < len(b) {
		if i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			q := w ^ lowBits*'"'
			c := (w | lowBits*0x26) ^ lowBits*0x7F
			match := ((q - lowBits) &^ q & highBits) | ((c - lowBits) &^ c & highBits)
			if match == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(match) / 8
		}
		switch b[i] {
		case '"':
			j, err := skipString(b, i)
			if err != nil {
				return 0, err
			}
			i = j
			continue
		case '{', '[':
			if depth++; depth > maxDepth {
				return 0, syntaxError("values are nested deeper than %d", maxDepth)
			}
			kinds = kinds<<1 | uint64(b[i]>>5&1)
		case '}', ']':
			if kinds&1 != uint64(b[i]>>5&1) {
				return 0, syntaxError("%q closes the wrong bracket", b[i])
			}
			kinds >>= 1
			if depth--; depth == 0 {
				return i + 1, nil
			}
		}
		i++
	}
	return 0, errTruncated
}

package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// errShort says that the bytes end before the value does: more must be read.
var errShort = errors.New("the answer ends in the middle of a value")

// SyntaxError is JSON that cannot be read.
type SyntaxError struct{ Reason string }

// Error tells what is wrong with the JSON.
func (e *SyntaxError) Error() string { return "malformed JSON: " + e.Reason }

func syntaxError(format string, args ...any) error {
	return &SyntaxError{fmt.Sprintf(format, args...)}
}

// maxDepth bounds the nesting of values. Real answers stay under 12.
const maxDepth = 64

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// skipSpace returns the first position from i on that is not white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// skipString returns the position behind the string that begins at b[i] == '"'.
func skipString(b []byte, i int) (int, error) {
	for j := i + 1; ; j++ {
		n := bytes.IndexByte(b[j:], '"')
		if n < 0 {
			return 0, errShort
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

// skipValue returns the position behind the value that begins at b[i]. Scalars
// need a byte behind them to be known as complete.
func skipValue(b []byte, i int) (int, error) {
	if i >= len(b) {
		return 0, errShort
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
	return 0, errShort
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// skipContainer returns the position behind the object or array that begins at
// b[i]. It looks at eight bytes at once for a quote or a bracket ({ } [ ] are
// 0x7F once or-ed with 0x26, and little else is).
func skipContainer(b []byte, i int) (int, error) {
	var kinds uint64 // one bit per open container: 1 for an object
	depth := 0
	for i < len(b) {
		if i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			q := w ^ ones*'"'
			c := (w | ones*0x26) ^ ones*0x7F
			hit := ((q - ones) &^ q & highs) | ((c - ones) &^ c & highs)
			if hit == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(hit) / 8
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
	return 0, errShort
}

package hostlist

import (
	"fmt"
	"strconv"
	"strings"
)

// expression is a parsed expression within the limits.
type expression struct {
	elements []element
	count    int
}

// element is the part of an expression between two separators.
type element []segment

// segment is either text or the ranges in brackets.
type segment struct {
	text   string
	ranges []numberRange
}

// numberRange contains the numbers from low to high, padded with zeros to the width.
type numberRange struct {
	low, high uint64
	width     int
}

const separators = ", \t\r\n"

// maxDigits is the maximum number of digits of a number; it fits 64 bits.
const maxDigits = 18

// parser parses an expression.
type parser struct {
	expr string
	pos  int
}

func (p *parser) errorAt(offset int, format string, args ...any) error {
	near := p.expr[min(offset, len(p.expr)):]
	return &SyntaxError{Offset: offset, Reason: fmt.Sprintf(format, args...), near: near[:min(len(near), 20)]}
}

// peek returns the byte at the position, or 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.expr) {
		return p.expr[p.pos]
	}
	return 0
}

func parseExpression(expr string) (expression, error) {
	p := &parser{expr: expr}
	var out expression
	for p.pos < len(expr) {
		if strings.IndexByte(separators, p.peek()) >= 0 {
			p.pos++
			continue
		}
		start := p.pos
		e, count, err := p.readElement()
		if err != nil {
			return expression{}, err
		}
		if out.count += count; out.count > MaxNames {
			return expression{}, &LimitError{Offset: start}
		}
		out.elements = append(out.elements, e)
	}
	return out, nil
}

// readElement reads up to the next separator and counts the names.
func (p *parser) readElement() (e element, count int, err error) {
	start, length := p.pos, 0
	count = 1
	for p.pos < len(p.expr) && strings.IndexByte(separators, p.peek()) < 0 {
		var next segment
		switch p.peek() {
		case ']':
			return nil, 0, p.errorAt(p.pos, `"]" without "["`)
		case '[':
			var here, longest int
			next.ranges, here, longest, err = p.readBrackets(start)
			if err != nil {
				return nil, 0, err
			}
			if here > MaxNames/count {
				return nil, 0, &LimitError{Offset: start}
			}
			count *= here
			length += longest
		default:
			next.text = p.readText()
			length += len(next.text)
		}
		if length > MaxNameLength {
			return nil, 0, p.errorAt(start, "a name of more than %d bytes", MaxNameLength)
		}
		e = append(e, next)
	}
	return e, count, nil
}

// readText reads up to the next separator or bracket.
func (p *parser) readText() string {
	rest := p.expr[p.pos:]
	if end := strings.IndexAny(rest, separators+"[]"); end >= 0 {
		rest = rest[:end]
	}
	p.pos += len(rest)
	return rest
}

// readBrackets reads the ranges between "[" and "]". It returns the count of their numbers and the
// number of digits of the longest.
func (p *parser) readBrackets(element int) (ranges []numberRange, count, longest int, err error) {
	open := p.pos
	for p.peek() != ']' {
		p.pos++ // the "[" or a ","
		r, err := p.readRange(open)
		if err != nil {
			return nil, 0, 0, err
		}
		if r.high-r.low >= MaxNames {
			return nil, 0, 0, &LimitError{Offset: element}
		}
		if count += int(r.high-r.low) + 1; count > MaxNames {
			return nil, 0, 0, &LimitError{Offset: element}
		}
		longest = max(longest, r.width, countDigits(r.high))
		ranges = append(ranges, r)
		if c := p.peek(); c != ',' && c != ']' {
			return nil, 0, 0, p.unexpectedByte(open)
		}
	}
	p.pos++
	return ranges, count, longest, nil
}

// readRange reads a number or a range of numbers.
func (p *parser) readRange(open int) (r numberRange, err error) {
	start := p.pos
	r.low, r.width, err = p.readNumber(open)
	if err != nil {
		return r, err
	}
	r.high = r.low
	if p.peek() != '-' {
		return r, nil
	}
	p.pos++
	if r.high, _, err = p.readNumber(open); err != nil {
		return r, err
	}
	if r.high < r.low {
		return r, p.errorAt(start, "a range that runs backwards")
	}
	return r, nil
}

// readNumber reads a number and its width.
func (p *parser) readNumber(open int) (value uint64, width int, err error) {
	start := p.pos
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		if p.pos++; p.pos-start > maxDigits {
			return 0, 0, p.errorAt(start, "a number of more than %d digits", maxDigits)
		}
		value = value*10 + uint64(c-'0')
	}
	if p.pos == start {
		return 0, 0, p.unexpectedByte(open)
	}
	return value, p.pos - start, nil
}

// unexpectedByte returns the error for a byte that cannot follow in brackets.
func (p *parser) unexpectedByte(open int) error {
	if p.pos >= len(p.expr) {
		return p.errorAt(open, `"[" without "]"`)
	}
	return p.errorAt(p.pos, "%q instead of a number, a comma or \"]\"", p.peek())
}

// appendNumber appends a number, padded with zeros to the width.
func appendNumber(to []byte, n uint64, width int) []byte {
	var buf [20]byte
	digits := strconv.AppendUint(buf[:0], n, 10)
	for range width - len(digits) {
		to = append(to, '0')
	}
	return append(to, digits...)
}

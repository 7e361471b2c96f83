package hostlist

import (
	"fmt"
	"strconv"
	"strings"
)

// list is a parsed expression, within the limits.
type list struct {
	elements []element
	count    int
}

// element is what stands between two separators.
type element []part

// part is text or, in brackets, ranges.
type part struct {
	text   string
	ranges []numbers
}

// numbers counts from low to high, filled up with zeros to the width.
type numbers struct {
	low, high uint64
	width     int
}

const separators = ", \t\r\n"

// maxDigits is how many digits are read as one number; it fits 64 bits.
const maxDigits = 18

// parser walks over an expression.
type parser struct {
	expr string
	pos  int
}

func (p *parser) fail(offset int, format string, args ...any) error {
	near := p.expr[min(offset, len(p.expr)):]
	return &SyntaxError{Offset: offset, Reason: fmt.Sprintf(format, args...), near: near[:min(len(near), 20)]}
}

// next returns the byte at the position, 0 at the end.
func (p *parser) next() byte {
	if p.pos < len(p.expr) {
		return p.expr[p.pos]
	}
	return 0
}

func parse(expr string) (list, error) {
	p := &parser{expr: expr}
	var out list
	for p.pos < len(expr) {
		if strings.IndexByte(separators, p.next()) >= 0 {
			p.pos++
			continue
		}
		start := p.pos
		e, count, err := p.element()
		if err != nil {
			return list{}, err
		}
		if out.count += count; out.count > MaxNames {
			return list{}, &LimitError{Offset: start}
		}
		out.elements = append(out.elements, e)
	}
	return out, nil
}

// element reads up to the next separator and counts the names.
func (p *parser) element() (e element, count int, err error) {
	start, length := p.pos, 0
	count = 1
	for p.pos < len(p.expr) && strings.IndexByte(separators, p.next()) < 0 {
		var next part
		switch p.next() {
		case ']':
			return nil, 0, p.fail(p.pos, `"]" without "["`)
		case '[':
			var here, longest int
			next.ranges, here, longest, err = p.brackets(start)
			if err != nil {
				return nil, 0, err
			}
			if here > MaxNames/count {
				return nil, 0, &LimitError{Offset: start}
			}
			count *= here
			length += longest
		default:
			next.text = p.text()
			length += len(next.text)
		}
		if length > MaxNameLength {
			return nil, 0, p.fail(start, "a name of more than %d bytes", MaxNameLength)
		}
		e = append(e, next)
	}
	return e, count, nil
}

// text reads what is neither separator nor bracket.
func (p *parser) text() string {
	rest := p.expr[p.pos:]
	if end := strings.IndexAny(rest, separators+"[]"); end >= 0 {
		rest = rest[:end]
	}
	p.pos += len(rest)
	return rest
}

// brackets reads the ranges between "[" and "]", counts their numbers, and says
// how many digits the longest has.
func (p *parser) brackets(element int) (ranges []numbers, count, longest int, err error) {
	open := p.pos
	for p.next() != ']' {
		p.pos++ // the "[" or a ","
		r, err := p.numbers(open)
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
		if c := p.next(); c != ',' && c != ']' {
			return nil, 0, 0, p.unexpected(open)
		}
	}
	p.pos++
	return ranges, count, longest, nil
}

// numbers reads a number or a range of numbers.
func (p *parser) numbers(open int) (r numbers, err error) {
	start := p.pos
	r.low, r.width, err = p.number(open)
	if err != nil {
		return r, err
	}
	r.high = r.low
	if p.next() != '-' {
		return r, nil
	}
	p.pos++
	if r.high, _, err = p.number(open); err != nil {
		return r, err
	}
	if r.high < r.low {
		return r, p.fail(start, "a range that runs backwards")
	}
	return r, nil
}

// number reads a number and its width.
func (p *parser) number(open int) (value uint64, width int, err error) {
	start := p.pos
	for c := p.next(); c >= '0' && c <= '9'; c = p.next() {
		if p.pos++; p.pos-start > maxDigits {
			return 0, 0, p.fail(start, "a number of more than %d digits", maxDigits)
		}
		value = value*10 + uint64(c-'0')
	}
	if p.pos == start {
		return 0, 0, p.unexpected(open)
	}
	return value, p.pos - start, nil
}

// unexpected says what stands where a number should be or has ended.
func (p *parser) unexpected(open int) error {
	if p.pos >= len(p.expr) {
		return p.fail(open, `"[" without "]"`)
	}
	return p.fail(p.pos, "%q where a number, a comma or \"]\" belongs", p.next())
}

// appendNumber writes a number, filled up with zeros to the width.
func appendNumber(to []byte, n uint64, width int) []byte {
	var buf [20]byte
	digits := strconv.AppendUint(buf[:0], n, 10)
	for range width - len(digits) {
		to = append(to, '0')
	}
	return append(to, digits...)
}

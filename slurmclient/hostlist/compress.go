package hostlist

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Compress returns an expression for the names, sorted by Compare and without repetitions. Consecutive
// numbers at the end of names become ranges, as in the output of scontrol show hostlist. Expand
// returns the same names if they are valid: not empty, at most MaxNameLength long, and without
// separators and brackets. Compress does not modify names.
func Compress(names []string) string {
	split := make([]nameParts, len(names))
	for i, n := range names {
		split[i] = splitName(n)
	}
	slices.SortFunc(split, compareNames)
	split = slices.Compact(split)
	var out strings.Builder
	for len(split) > 0 {
		same := 1
		for same < len(split) && split[same].prefix == split[0].prefix && split[0].digits != "" {
			same++
		}
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		writeGroup(&out, split[:same])
		split = split[same:]
	}
	return out.String()
}

// Compare compares names in natural order, n2 before n10. It compares the text before the number at the
// end, in which numbers compare by value, then that number, then the length of its spelling. It returns
// 0 only for equal names.
func Compare(a, b string) int { return compareNames(splitName(a), splitName(b)) }

// nameParts is a name, split before the number at its end.
type nameParts struct {
	prefix, digits string
	number         uint64
}

func splitName(full string) nameParts {
	cut := len(full)
	for cut > 0 && len(full)-cut < maxDigits && full[cut-1] >= '0' && full[cut-1] <= '9' {
		cut--
	}
	number, _ := strconv.ParseUint(full[cut:], 10, 64) // without digits the number is 0
	return nameParts{prefix: full[:cut], digits: full[cut:], number: number}
}

func compareNames(a, b nameParts) int {
	if a.prefix != b.prefix {
		return comparePrefix(a.prefix, b.prefix)
	}
	return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(len(a.digits), len(b.digits)))
}

// comparePrefix compares text by bytes and numbers in the text by value. If that finds no difference
// ("a01b", "a1b"), it compares all bytes.
func comparePrefix(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		m, n := leadingDigits(x), leadingDigits(y)
		if m == 0 || n == 0 {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		p, q := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
		if order := cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q)); order != 0 {
			return order
		}
		x, y = x[m:], y[n:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

func leadingDigits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// writeGroup writes sorted names with the same prefix.
func writeGroup(out *strings.Builder, group []nameParts) {
	out.WriteString(group[0].prefix)
	if len(group) == 1 {
		out.WriteString(group[0].digits)
		return
	}
	separator := byte('[')
	for len(group) > 0 {
		run := 1
		for run < len(group) && isSuccessor(group[0], group[run], uint64(run)) {
			run++
		}
		out.WriteByte(separator)
		out.WriteString(group[0].digits)
		if run > 1 {
			out.WriteByte('-')
			out.WriteString(group[run-1].digits)
		}
		separator, group = ',', group[run:]
	}
	out.WriteByte(']')
}

// isSuccessor reports whether the number of next is the number of first plus steps, with the same width.
func isSuccessor(first, next nameParts, steps uint64) bool {
	if next.number != first.number+steps {
		return false
	}
	return len(next.digits) == max(len(first.digits), countDigits(next.number))
}

// countDigits returns the number of decimal digits of n.
func countDigits(n uint64) int {
	count := 1
	for ; n >= 10; n /= 10 {
		count++
	}
	return count
}

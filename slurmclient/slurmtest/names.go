package slurmtest

import (
	"fmt"
	"strconv"
	"strings"
)

// expandNames lists the names of a hostlist such as "n[1-3,7],x".
func expandNames(text string) ([]string, error) {
	var out []string
	for text != "" {
		end, depth := 0, 0
		for end < len(text) && (depth > 0 || text[end] != ',') {
			depth += map[byte]int{'[': 1, ']': -1}[text[end]]
			end++
		}
		names, err := expandName(text[:end])
		if err != nil {
			return nil, err
		}
		out = append(out, names...)
		text = text[min(end+1, len(text)):]
	}
	return out, nil
}

func expandName(text string) ([]string, error) {
	prefix, rest, ok := strings.Cut(text, "[")
	if !ok {
		return []string{text}, nil
	}
	inside, suffix, ok := strings.Cut(rest, "]")
	if !ok {
		return nil, fmt.Errorf("hostlist %q: no closing bracket", text)
	}
	tails, err := expandName(suffix)
	if err != nil {
		return nil, err
	}
	var out []string
	for part := range strings.SplitSeq(inside, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, err1 := strconv.ParseUint(from, 10, 32)
		b, err2 := strconv.ParseUint(to, 10, 32)
		if err1 != nil || err2 != nil || b < a {
			return nil, fmt.Errorf("hostlist %q: bad range %q", text, part)
		}
		for i := a; i <= b; i++ {
			for _, tail := range tails {
				out = append(out, fmt.Sprintf("%s%0*d%s", prefix, len(from), i, tail))
			}
		}
	}
	return out, nil
}

// compressNames writes names as a hostlist. Names that differ in nothing but the
// number at their end and follow one another share brackets.
func compressNames(names []string) string {
	type group struct {
		prefix string
		width  int
		parts  []string
		last   uint64
		from   string
	}
	var groups []*group
	find := map[string]*group{}
	for _, name := range names {
		prefix := strings.TrimRight(name, "0123456789")
		digits := name[len(prefix):]
		n, err := strconv.ParseUint(digits, 10, 32)
		key := fmt.Sprintf("%s/%d", prefix, numberWidth(digits))
		g := find[key]
		if g == nil || err != nil {
			g = &group{prefix: prefix, width: len(digits)}
			groups = append(groups, g)
			find[key] = g
		} else if n == g.last+1 {
			g.parts[len(g.parts)-1] = g.from + "-" + digits
			g.last = n
			continue
		}
		g.parts, g.last, g.from = append(g.parts, digits), n, digits
	}
	var out []string
	for _, g := range groups {
		if len(g.parts) == 1 && !strings.Contains(g.parts[0], "-") {
			out = append(out, g.prefix+g.parts[0])
		} else {
			out = append(out, g.prefix+"["+strings.Join(g.parts, ",")+"]")
		}
	}
	return strings.Join(out, ",")
}

// numberWidth tells padded numbers of one width from those of another.
func numberWidth(digits string) int {
	if strings.HasPrefix(digits, "0") {
		return len(digits)
	}
	return 0
}

package wire

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// The functions below parse one complete JSON value. They treat a value of an unexpected type as absent. It thus never
// becomes a number or a state that the server did not send.

// parseText returns the text of a JSON string. It returns nil for null and other types.
func parseText(v []byte) []byte {
	if len(v) < 2 || v[0] != '"' {
		return nil
	}
	s := v[1 : len(v)-1]
	if bytes.IndexByte(s, '\\') < 0 && isValidUTF8(s) {
		return s
	}
	return unescapeText(s)
}

func isValidUTF8(s []byte) bool {
	for _, c := range s {
		if c >= utf8.RuneSelf {
			return utf8.Valid(s)
		}
	}
	return true
}

func unescapeText(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 >= len(s) {
			r, n := utf8.DecodeRune(s[i:])
			out = utf8.AppendRune(out, r)
			i += n
			continue
		}
		if s[i+1] == 'u' {
			r, n := unescapeRune(s[i:])
			out = utf8.AppendRune(out, r)
			i += n
			continue
		}
		out = append(out, unescapeByte(s[i+1]))
		i += 2
	}
	return out
}

func unescapeByte(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c
}

// unescapeRune reads \uXXXX, or a surrogate pair of two.
func unescapeRune(s []byte) (rune, int) {
	r, ok := parseHex4(s)
	if !ok {
		return utf8.RuneError, min(2, len(s))
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := parseHex4(s[6:]); ok {
		if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
			return both, 12
		}
	}
	return utf8.RuneError, 6
}

func parseHex4(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(n), err == nil
}

// parseUnsigned parses a non-negative number; ok is false for anything else. It truncates fractions.
func parseUnsigned(v []byte) (n uint64, ok bool) {
	if len(v) == 0 || len(v) > 19 {
		f, ok := parseFloat(v)
		if !ok || f < 0 || f >= 1<<63 {
			return 0, false
		}
		return uint64(f), true
	}
	for i, c := range v {
		if c < '0' || c > '9' {
			if f, ok := parseFloat(v); ok && i > 0 && f < 1<<63 {
				return uint64(f), true
			}
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

func parseSigned(v []byte) (int64, bool) {
	if len(v) > 1 && v[0] == '-' {
		n, ok := parseUnsigned(v[1:])
		return -int64(n), ok
	}
	n, ok := parseUnsigned(v)
	return int64(n), ok
}

func parseFloat(v []byte) (float64, bool) {
	// strconv accepts more than JSON allows: hexadecimal numbers and -Infinity.
	if len(v) == 0 || v[0] != '-' && (v[0] < '0' || v[0] > '9') || bytes.ContainsAny(v, "xXpPiInN_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	return f, err == nil
}

// noVal is Slurm's object {"set":…,"infinite":…,"number":…}.
type noVal struct {
	set, infinite bool
	number        []byte
}

func readNoVal(v []byte) (n noVal, ok bool) {
	eachMember(v, func(key, value []byte) {
		switch string(key) {
		case "set":
			n.set, ok = string(value) == "true", string(value) == "true" || string(value) == "false"
		case "infinite":
			n.infinite = string(value) == "true"
		case "number":
			n.number = value
		}
	})
	return n, ok
}

// parseNumber parses a noVal object or a plain number; anything else is absent.
func parseNumber(v []byte) slurm.Number {
	if len(v) == 0 || v[0] != '{' {
		if n, ok := parseUnsigned(v); ok {
			return slurm.Num(n)
		}
		return slurm.Number{}
	}
	nv, ok := readNoVal(v)
	switch {
	case !ok:
		return slurm.Number{}
	case nv.infinite:
		return slurm.Infinite()
	case !nv.set:
		return slurm.Unset()
	}
	if n, ok := parseUnsigned(nv.number); ok {
		return slurm.Num(n)
	}
	return slurm.Number{}
}

// parseTime parses a time as parseNumber does. Unset and unreadable times are 0.
func parseTime(v []byte) slurm.Time {
	n := parseNumber(v)
	if n.IsInfinite() {
		return slurm.Never
	}
	// Slurm's NO_VAL (0xfffffffe) and INFINITE (0xffffffff) are not times, and neither are values
	// beyond any date.
	switch t := n.Or(0); {
	case t == 0xfffffffe, t > 1<<62:
		return 0
	case t == 0xffffffff:
		return slurm.Never
	default:
		return slurm.Time(t)
	}
}

// eachWord calls f for each string of an array, or for a single string.
func eachWord(v []byte, f func(word []byte)) {
	if len(v) > 0 && v[0] == '"' {
		if s := parseText(v); len(s) > 0 {
			f(s)
		}
		return
	}
	eachElement(v, func(e []byte) {
		if s := parseText(e); len(s) > 0 {
			f(s)
		}
	})
}

func joinWords(v []byte) string {
	var b strings.Builder
	eachWord(v, func(w []byte) {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.Write(w)
	})
	return b.String()
}

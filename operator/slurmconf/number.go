package slurmconf

import (
	"math"
	"strconv"
	"strings"
)

// ParseNumber returns a number as Slurm reads it in slurm.conf and in the lines of nodes, and reports whether the text is a
// number. It may be hexadecimal (0x10) or octal (010). k or K after it means 1024. UNLIMITED and INFINITE are the largest
// 32-bit number. Measured on 24.11 and 26.05 with MaxJobCount (docs/development/slurm.md, "What ends jobs").
func ParseNumber(text string) (uint64, bool) {
	if strings.EqualFold(text, "UNLIMITED") || strings.EqualFold(text, "INFINITE") {
		return math.MaxUint32, true
	}
	digits, factor := strings.TrimPrefix(text, "+"), uint64(1)
	if trimmed := strings.TrimRight(digits, "kK"); len(trimmed) == len(digits)-1 {
		digits, factor = trimmed, 1024
	}
	base := 10
	switch lower := strings.ToLower(digits); {
	case strings.HasPrefix(lower, "0x"):
		digits, base = digits[2:], 16
	case strings.HasPrefix(lower, "0"):
		base = 8
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if err != nil || n > math.MaxUint64/factor {
		return 0, false
	}
	return n * factor, true
}

package slurm

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// TRES is a set of trackable resources (slurm.conf(5), AccountingStorageTRES).
type TRES struct {
	CPUs, Nodes uint64
	MemoryMiB   uint64
	Billing     uint64
	// GRES counts generic resources by Slurm's name without "gres/", such as "gpu" and
	// "gpu:h100". It is nil if no resource is counted.
	GRES map[string]uint64
	// Licenses counts licences by name. It is nil if no licence is counted.
	Licenses map[string]uint64
}

// GPUs returns the number of GPUs of all types. Slurm usually lists the total besides the types;
// otherwise GPUs adds up the types.
func (t TRES) GPUs() uint64 {
	if n, ok := t.GRES["gpu"]; ok {
		return n
	}
	var sum uint64
	for name, n := range t.GRES {
		if strings.HasPrefix(name, "gpu:") {
			sum = addSaturating(sum, n)
		}
	}
	return sum
}

// ParseTRES parses text such as "cpu=4,mem=62.50G,node=1,gres/gpu:h100=2". Empty text is the empty set.
// ParseTRES ignores unknown fields. If it cannot read a number, it returns the rest of the set and an
// error that names the number.
func ParseTRES(text string) (TRES, error) {
	var t TRES
	var bad error
	for item := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(item, "=")
		if !ok {
			if item != "" {
				bad = fmt.Errorf("reading TRES %q: %q has no value", text, item)
			}
			continue
		}
		n, err := parseCount(value, name == "mem")
		if err != nil {
			bad = fmt.Errorf("reading TRES %q: %w", text, err)
			continue
		}
		t.setField(name, n)
	}
	return t, bad
}

func (t *TRES) setField(name string, n uint64) {
	switch {
	case name == "cpu":
		t.CPUs = n
	case name == "node":
		t.Nodes = n
	case name == "mem":
		t.MemoryMiB = n
	case name == "billing":
		t.Billing = n
	case strings.HasPrefix(name, "gres/"):
		setCount(&t.GRES, name[len("gres/"):], n)
	case strings.HasPrefix(name, "license/"):
		setCount(&t.Licenses, name[len("license/"):], n)
	}
}

// ParseGRES parses the generic resources of a node, such as "gpu:h100:4(S:0-1),shard:8" or
// "gpu:h100:2(IDX:0-1)", into counts by name and by name:type. slurmctld 24.11 writes "(null)" as the
// type of untyped resources in use, as in "gpu:(null):2(IDX:0-1)". The texts "(null)" and "N/A" mean
// no resources. If ParseGRES cannot read an item, it returns the rest of the set and an error that
// names the item.
func ParseGRES(text string) (map[string]uint64, error) {
	var out map[string]uint64
	var bad error
	for _, item := range splitOutsideParens(text) {
		name, count, err := parseGRESItem(item)
		if err != nil {
			bad = fmt.Errorf("reading GRES %q: %w", text, err)
		} else if name != "" {
			addWithBase(&out, name, count)
		}
	}
	return out, bad
}

// addWithBase adds a count under its name, such as gpu:h100, and under the name without the type.
func addWithBase(to *map[string]uint64, name string, count uint64) {
	if base, _, typed := strings.Cut(name, ":"); typed {
		addCount(to, base, count)
	}
	addCount(to, name, count)
}

// parseGRESItem splits "gpu:h100:4(S:0-1)" into "gpu:h100" and 4. An item without a count counts 1, and what sbatch does not read as
// a count is a type, such as 2080ti and 3g.20gb. Of three parts the last one must be a count. The name is empty for no resource.
func parseGRESItem(item string) (name string, count uint64, err error) {
	item = strings.ReplaceAll(item, ":(null)", "")
	item, _, _ = strings.Cut(item, "(")
	if item == "" || item == "N/A" {
		return "", 0, nil
	}
	name, last, ok := cutLast(item, ':')
	count, isCount := parseGRESCount(last)
	switch {
	case !ok:
		return item, 1, nil
	case isCount:
		return name, count, nil
	case strings.Contains(name, ":") || name == "":
		return "", 0, fmt.Errorf("%q is not a count", last)
	case last == "":
		return name, 1, nil
	}
	return item, 1, nil
}

func cutLast(s string, separator byte) (before, after string, found bool) {
	i := strings.LastIndexByte(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// parseGRESCount parses a count of generic resources as sbatch does (measured, docs/development/slurm.md, "Counts of generic
// resources"): digits, and perhaps a unit, which is a power of 1024 (k, kib) or of 1000 (kb). Anything else is no count.
func parseGRESCount(s string) (uint64, bool) {
	digits := strings.TrimRight(s, "kmgtpibKMGTPIB")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, false
	}
	unit := strings.ToLower(s[len(digits):])
	if unit == "" {
		return n, true
	}
	power := strings.IndexByte("kmgtp", unit[0]) + 1
	base := map[string]uint64{"": 1024, "ib": 1024, "b": 1000}[unit[1:]]
	if power == 0 || base == 0 {
		return 0, false
	}
	for range power {
		if n > math.MaxUint64/base {
			return math.MaxUint64, true
		}
		n *= base
	}
	return n, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func splitOutsideParens(s string) []string {
	var out []string
	depth, start := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth <= 0 {
				out = append(out, s[start:i])
				start = i + 1
			}
		}
	}
	return append(out, s[start:])
}

// parseCount parses a number with an optional unit (K, M, G, T and P are powers of 1024). It returns
// memory in MiB, which is also the unit of memory without a unit.
func parseCount(s string, memory bool) (uint64, error) {
	digits := strings.TrimRight(s, "KMGTPBib")
	unit := strings.TrimRight(s[len(digits):], "iBb")
	if digits == "" || !isDigit(digits[0]) {
		// strconv also accepts signs, "Inf" and "NaN".
		return 0, fmt.Errorf("%q is not a count", s)
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || f > 1<<62 {
		return 0, fmt.Errorf("%q is not a count", s)
	}
	by, ok := unitShift(unit)
	if !ok {
		return 0, fmt.Errorf("%q has an unknown unit", s)
	}
	if memory && unit != "" {
		f /= 1 << 20
	}
	f *= float64(uint64(1) << by)
	if f > 1<<62 {
		return 0, fmt.Errorf("%q is too large", s)
	}
	return uint64(f), nil
}

// unitShift returns the power of 2 of a unit.
func unitShift(unit string) (by int, ok bool) {
	switch unit {
	case "":
		return 0, true
	case "K":
		return 10, true
	case "M":
		return 20, true
	case "G":
		return 30, true
	case "T":
		return 40, true
	case "P":
		return 50, true
	}
	return 0, false
}

func setCount(m *map[string]uint64, k string, v uint64) {
	if *m == nil {
		*m = map[string]uint64{}
	}
	(*m)[k] = v
}

func addCount(m *map[string]uint64, k string, v uint64) {
	if *m == nil {
		*m = map[string]uint64{}
	}
	(*m)[k] = addSaturating((*m)[k], v)
}

// addSaturating returns a+b, or the largest number if the sum overflows.
func addSaturating(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

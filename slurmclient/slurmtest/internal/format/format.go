// Package format writes values as Slurm does.
package format

import (
	"strconv"
	"strings"
)

// TRES are TRES by kind; memory is in MiB. String formats them as Slurm does and omits zeros.
type TRES struct{ CPUs, Memory, Nodes, Billing, GPUs uint64 }

// String returns a text such as "cpu=4,mem=8G".
func (t TRES) String() string {
	var b strings.Builder
	add := func(name, value string) {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(name + "=" + value)
	}
	if t.CPUs > 0 {
		add("cpu", strconv.FormatUint(t.CPUs, 10))
	}
	if t.Memory > 0 {
		add("mem", formatMemory(t.Memory))
	}
	if t.Nodes > 0 {
		add("node", strconv.FormatUint(t.Nodes, 10))
	}
	if t.Billing > 0 {
		add("billing", strconv.FormatUint(t.Billing, 10))
	}
	if t.GPUs > 0 {
		add("gres/gpu", strconv.FormatUint(t.GPUs, 10))
	}
	return b.String()
}

// formatMemory formats MiB with the largest unit in which the value is a multiple of a half.
func formatMemory(mib uint64) string {
	n, unit := float64(mib), 0
	for n >= 1024 && uint64(n)%512 == 0 && unit < 3 {
		n /= 1024
		unit++
	}
	format := 0
	if n != float64(uint64(n)) {
		format = 2
	}
	return strconv.FormatFloat(n, 'f', format, 64) + "MGTP"[unit:unit+1]
}

// WriteUint writes a number in decimal.
func WriteUint(b *strings.Builder, n uint64) { b.WriteString(strconv.FormatUint(n, 10)) }

// Ranges formats sorted numbers as "0-3,7", or as "0-18:2" if all have the same distance. A
// text longer than limit bytes is truncated at a comma and ends in "..."; 0 means no limit.
func Ranges(list []uint32, limit int) string {
	if text, ok := formatSteppedRange(list); ok {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(list); {
		k := i
		for k+1 < len(list) && list[k+1] == list[k]+1 {
			k++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		WriteUint(&b, uint64(list[i]))
		if k > i {
			b.WriteByte('-')
			WriteUint(&b, uint64(list[k]))
		}
		i = k + 1
		if limit > 0 && b.Len() > limit {
			return truncateRanges(b.String(), limit)
		}
	}
	return b.String()
}

func formatSteppedRange(list []uint32) (string, bool) {
	if len(list) < 3 {
		return "", false
	}
	step := list[1] - list[0]
	for i := 2; i < len(list); i++ {
		if list[i]-list[i-1] != step {
			return "", false
		}
	}
	if step == 1 {
		return "", false
	}
	var b strings.Builder
	WriteUint(&b, uint64(list[0]))
	b.WriteByte('-')
	WriteUint(&b, uint64(list[len(list)-1]))
	b.WriteByte(':')
	WriteUint(&b, uint64(step))
	return b.String(), true
}

func truncateRanges(text string, limit int) string {
	text = text[:limit-4]
	if i := strings.LastIndexByte(text, ','); i >= 0 {
		text = text[:i]
	}
	return text + ",..."
}

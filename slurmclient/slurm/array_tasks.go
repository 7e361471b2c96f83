package slurm

import (
	"strconv"
	"strings"
)

// ArrayTasks is the parsed task text of an array.
type ArrayTasks struct {
	// First is the lowest index, Count the number of tasks, and MaxRunning the throttle after
	// "%" (0 for none).
	First, Count, MaxRunning uint64
}

// ParseArrayTasks parses the text of Job.ArrayTasks, such as "2-9,12-20:4%2". ok is false if the text
// is empty, cannot be read, or was truncated by the server; the result is then a lower bound.
// slurmrestd prints at most 64 bytes unless SLURM_BITSTR_LEN changes that, and ends truncated text
// with "…" or "...".
func ParseArrayTasks(text string) (t ArrayTasks, ok bool) {
	text, throttle, throttled := strings.Cut(text, "%")
	ok = text != ""
	if throttled {
		n, err := strconv.ParseUint(throttle, 10, 32)
		t.MaxRunning, ok = n, ok && err == nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, count, good := parseTaskRange(part)
		if !good {
			ok = false
			continue
		}
		if t.Count == 0 || first < t.First {
			t.First = first
		}
		t.Count += count
	}
	return t, ok
}

// HasArrayTask reports whether the text of Job.ArrayTasks contains a task. A task behind the end of a truncated text is not found.
func HasArrayTask(text string, task uint64) bool {
	list, _, _ := strings.Cut(text, "%")
	for part := range strings.SplitSeq(list, ",") {
		span, stepText, stepped := strings.Cut(part, ":")
		low, high, ranged := strings.Cut(span, "-")
		from, err := strconv.ParseUint(low, 10, 32)
		to, step := from, uint64(1)
		if ranged && err == nil {
			to, err = strconv.ParseUint(high, 10, 32)
		}
		if stepped && err == nil {
			step, err = strconv.ParseUint(stepText, 10, 32)
		}
		if err == nil && step > 0 && task >= from && task <= to && (task-from)%step == 0 {
			return true
		}
	}
	return false
}

func parseTaskRange(part string) (first, count uint64, ok bool) {
	span, stepText, stepped := strings.Cut(part, ":")
	step := uint64(1)
	if stepped {
		n, err := strconv.ParseUint(stepText, 10, 32)
		if err != nil || n == 0 {
			return 0, 0, false
		}
		step = n
	}
	from, to, isRange := strings.Cut(span, "-")
	first, err := strconv.ParseUint(from, 10, 32)
	if err != nil {
		return 0, 0, false
	}
	if !isRange {
		return first, 1, !stepped
	}
	last, err := strconv.ParseUint(to, 10, 32)
	if err != nil || last < first {
		return first, 1, false
	}
	return first, (last-first)/step + 1, true
}

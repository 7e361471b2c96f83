package pending

import (
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// maxArrayTasks is the largest number of tasks of one array (slurm.conf(5), MaxArraySize).
const maxArrayTasks = 4_000_001

// CountTasks returns how many pending jobs the record represents: the number of tasks that the
// base record of an array lists, 1 for any other pending job, 0 for a job that is not pending. The
// result is a lower bound, and exact is false, when slurmctld truncated the list (at 64 bytes by
// default) or the list is malformed.
func CountTasks(j *slurm.Job) (tasks uint64, exact bool) {
	if j.State.Base != slurm.JobPending {
		return 0, true
	}
	if !j.IsArrayBase() {
		return 1, true
	}
	list, _, _ := strings.Cut(j.ArrayTasks, "%")
	list, whole := trimTruncation(list)
	tasks, exact = countArrayTasks(list, whole)
	return min(max(tasks, 1), maxArrayTasks), exact && tasks > 0 && tasks <= maxArrayTasks
}

// RunnableTasks returns how many of the record's pending tasks the array's throttle (%N) allows to
// run now, given the number of tasks of the array that are running.
func RunnableTasks(j *slurm.Job, running uint64) uint64 {
	tasks, _ := CountTasks(j)
	limit := ArrayThrottle(j)
	if limit == 0 {
		return tasks
	}
	return min(tasks, limit-min(limit, running))
}

// ArrayThrottle returns how many tasks of the array can run at once, 0 for no limit.
func ArrayThrottle(j *slurm.Job) uint64 {
	if j.ArrayMaxRunning() > 0 {
		return uint64(j.ArrayMaxRunning())
	}
	_, limit, _ := strings.Cut(j.ArrayTasks, "%")
	n, err := strconv.ParseUint(limit, 10, 32)
	if err != nil {
		return 0
	}
	return n
}

// trimTruncation removes the ellipsis that slurmctld appends to a truncated list.
func trimTruncation(list string) (rest string, whole bool) {
	for _, mark := range []string{"...", "…"} {
		if rest, cut := strings.CutSuffix(list, mark); cut {
			return rest, false
		}
	}
	return list, true
}

// countArrayTasks counts the tasks of a list such as "1-9:2,12". The last item of a truncated list
// can lack digits, so it counts as one task.
func countArrayTasks(list string, whole bool) (sum uint64, exact bool) {
	exact = whole
	for list != "" && sum <= maxArrayTasks {
		item, rest, more := strings.Cut(list, ",")
		list = rest
		n, ok := uint64(1), true
		if whole || more {
			n, ok = countRangeTasks(item)
		} else if item == "" {
			n = 0
		}
		sum += n
		exact = exact && ok
	}
	return sum, exact
}

// countRangeTasks counts the tasks of "7", "1-9" or "1-9:2". A malformed item counts as one task.
func countRangeTasks(item string) (n uint64, ok bool) {
	item, stepText, stepped := strings.Cut(item, ":")
	firstText, lastText, isRange := strings.Cut(item, "-")
	first, err := strconv.ParseUint(firstText, 10, 32)
	if err != nil || (stepped && !isRange) {
		return 1, false
	}
	if !isRange {
		return 1, true
	}
	last, err := strconv.ParseUint(lastText, 10, 32)
	step := uint64(1)
	if stepped && err == nil {
		step, err = strconv.ParseUint(stepText, 10, 32)
	}
	if err != nil || last < first || step == 0 {
		return 1, false
	}
	return (last-first)/step + 1, true
}

package records

import (
	"strconv"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestJobIDIsAsSqueueWritesIt(t *testing.T) {
	for _, tc := range []struct {
		want string
		job  slurm.Job
	}{
		{"7", slurm.Job{ID: 7}},
		{"7_[2-9]", slurm.Job{ID: 7, ArrayJobID: 7, ArrayTasks: "2-9"}},
		{"7_3", slurm.Job{ID: 9, ArrayJobID: 7, ArrayTaskID: slurm.Num(3)}},
		{"8+1", slurm.Job{ID: 9, HetJobID: 8, HetOffset: 1}},
	} {
		if got := JobID(&tc.job); got != tc.want {
			t.Errorf("it is %s, not %s", got, tc.want)
		}
	}
}

func TestHasTaskFindsTasksThatAreNotSplitOff(t *testing.T) {
	j := &slurm.Job{ArrayTasks: "1,4-6,10-20:5%2"}
	for task, want := range map[string]bool{"1": true, "2": false, "5": true, "10": true, "12": false, "15": true,
		"21": false, "x": false} {
		if got := HasTask(j, task); got != want {
			t.Errorf("task %s: %t", task, got)
		}
	}
}

// FuzzHasTask checks that a list contains its first task, no task before it, and at most as many
// tasks as it counts.
func FuzzHasTask(f *testing.F) {
	for _, list := range []string{"2-9%2", "0-4294967295:1,5", "1,3,100-2...", "1-9:0", "9-2", "%",
		"0-18446744073709551615", "7:2"} {
		f.Add(list, uint32(7))
	}
	f.Fuzz(func(t *testing.T, list string, task uint32) {
		j := &slurm.Job{ArrayTasks: list}
		tasks, ok := slurm.ParseArrayTasks(list)
		if ok && !HasTask(j, strconv.FormatUint(tasks.First, 10)) {
			t.Errorf("%q does not contain its first task %d", list, tasks.First)
		}
		if ok && tasks.First > 0 && HasTask(j, strconv.FormatUint(tasks.First-1, 10)) {
			t.Errorf("%q contains a task before %d", list, tasks.First)
		}
		stood := uint64(0)
		for i := range uint64(20) {
			if HasTask(j, strconv.FormatUint(uint64(task)+i, 10)) {
				stood++
			}
		}
		if ok && stood > tasks.Count {
			t.Errorf("%q contains %d tasks of %d", list, stood, tasks.Count)
		}
	})
}

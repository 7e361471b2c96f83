package pending_test

import (
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestPendingTasks(t *testing.T) {
	cut := strings.Repeat("1,", 30)
	tests := map[string]struct {
		list  string
		want  uint64
		exact bool
	}{
		"one task":                             {"7", 1, true},
		"task 0":                               {"0", 1, true},
		"a range":                              {"2-9", 8, true},
		"a range with a throttle":              {"2-9%2", 8, true},
		"a step":                               {"1-1000:2", 500, true},
		"a step and a throttle":                {"1-1000:2%50", 500, true},
		"a step that does not divide":          {"0-10:3", 4, true},
		"a list":                               {"1,3,5-7", 5, true},
		"a list of all kinds":                  {"1-4,8,10-20:5%3", 8, true},
		"truncated after a comma":              {cut + "...", 30, false},
		"truncated inside a number":            {"1,3,5,1...", 4, false},
		"truncated inside a range":             {"1,3,100-2...", 3, false},
		"truncated with an ellipsis character": {"1,3,…", 2, false},
		"truncated, with a throttle":           {"1-4,7,...%5", 5, false},
		"only the truncation mark":             {"...", 1, false},
		"no list at all":                       {"lots", 1, false},
		"a range that runs backwards":          {"9-2", 1, false},
		"a step of zero":                       {"1-9:0", 1, false},
		"a step without a range":               {"5:2", 1, false},
		"an empty item":                        {"1,,3", 3, false},
		"a number that is too large":           {"99999999999", 1, false},
		"a negative number":                    {"-5", 1, false},
		"more than an array allows":            {"0-4294967295", 4_000_001, false},
		"more than an array allows, twice":     {"0-4294967295,0-4294967295", 4_000_001, false},
		"as many as an array allows":           {"0-4000000", 4_000_001, true},
		"only a throttle":                      {"%5", 1, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, exact := pending.CountTasks(demandtest.NewJob(1, demandtest.WithArray(1, tt.list, 0)))
			if got != tt.want || exact != tt.exact {
				t.Errorf("%q: %d, %v; want %d, %v", tt.list, got, exact, tt.want, tt.exact)
			}
		})
	}
}

func TestPendingTasksOfOtherRecords(t *testing.T) {
	tests := map[string]struct {
		job  *slurm.Job
		want uint64
	}{
		"a job":            {demandtest.NewJob(1), 1},
		"a task split off": {demandtest.NewJob(2, demandtest.AsArrayTask(1, 4)), 1},
		"a split-off task with a list": {demandtest.NewJob(2, demandtest.AsArrayTask(1, 4),
			demandtest.WithChange(func(j *slurm.Job) { j.ArrayTasks = "4-9" })), 1},
		"a running base record": {demandtest.NewJob(1, demandtest.WithArray(1, "1-9", 0), demandtest.RunningOn("n1")),
			0},
		"an ended base record": {demandtest.NewJob(1, demandtest.WithArray(1, "1-9", 0),
			demandtest.WithChange(func(j *slurm.Job) { j.State.Base = slurm.JobCancelled })), 0},
		"a record of unknown state": {demandtest.NewJob(1,
			demandtest.WithChange(func(j *slurm.Job) { j.State.Base = slurm.JobUnknown })),
			0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, exact := pending.CountTasks(tt.job); got != tt.want || !exact {
				t.Errorf("got %d, %v; want %d, true", got, exact, tt.want)
			}
		})
	}
}

func TestRunnableTasks(t *testing.T) {
	tests := map[string]struct {
		list          string
		limit         uint32
		running, want uint64
	}{
		"no throttle":                              {"1-100", 0, 7, 100},
		"none runs":                                {"1-100%50", 50, 0, 50},
		"some run":                                 {"11-100%50", 50, 10, 40},
		"as many run as the throttle allows":       {"51-100%50", 50, 50, 0},
		"more run than the throttle allows":        {"51-100%5", 5, 50, 0},
		"fewer tasks than the throttle":            {"1-3%50", 50, 0, 3},
		"a throttle in the text only":              {"1-100%8", 0, 2, 6},
		"a throttle after a truncated list":        {"1-4,7,...%5", 0, 1, 4},
		"a throttle in the field only":             {"1-100", 9, 0, 9},
		"a malformed throttle":                     {"1-100%x", 0, 0, 100},
		"the field takes precedence over the text": {"1-100%8", 4, 0, 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := pending.RunnableTasks(demandtest.NewJob(1, demandtest.WithArray(1, tt.list, tt.limit)),
				tt.running); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func FuzzPendingTasksIsTotal(f *testing.F) {
	for _, seed := range []string{"1-9%2", "0-4294967295:1,5", "1,2,…", "...", "%", "-", ":", "1-1-1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		j := demandtest.NewJob(1, demandtest.WithArray(1, list, 0))
		tasks, _ := pending.CountTasks(j)
		if tasks < 1 || tasks > 4_000_001 {
			t.Errorf("%q represents %d tasks", list, tasks)
		}
		if run := pending.RunnableTasks(j, 0); run > tasks {
			t.Errorf("%q: %d of %d tasks may run", list, run, tasks)
		}
	})
}

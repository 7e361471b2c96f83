package burst

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestArgumentsOfSbatch(t *testing.T) {
	for name, c := range map[string]struct {
		shape JobTemplate
		want  string
	}{
		"a single job": {JobTemplate{Seconds: 5}, "--wrap=sleep 5"},
		"an array": {JobTemplate{Array: "1-8", Exclusive: true, Seconds: 8},
			"--array=1-8 --exclusive --wrap=sleep 8"},
		"several nodes": {JobTemplate{Nodes: 4, Seconds: 8}, "-N4 --wrap=srun hostname; sleep 8"},
		"a GPU": {JobTemplate{Partition: "gpu", GRES: "gpu:h100:1", Seconds: 1},
			"-pgpu --gres=gpu:h100:1 --wrap=sleep 1"},
		"a feature, anywhere": {JobTemplate{Partition: "all", Features: "gpu", Seconds: 1},
			"-pall -Cgpu --wrap=sleep 1"},
	} {
		want := "--job-name=demo --output=/dev/null " + c.want
		if d := cmp.Diff(want, strings.Join(c.shape.SbatchArgs(), " ")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestTheBurstHasEveryKindOfJob(t *testing.T) {
	shapes := JobTemplates(6)
	for name, is := range map[string]func(JobTemplate) bool{
		"an array":                     func(s JobTemplate) bool { return s.Array != "" && s.Tasks > 1 },
		"a job of several nodes":       func(s JobTemplate) bool { return s.Nodes > 1 && s.Nodes <= 6 },
		"a job with a feature":         func(s JobTemplate) bool { return s.Features != "" },
		"a job with GRES":              func(s JobTemplate) bool { return s.GRES != "" },
		"a job of too many nodes":      func(s JobTemplate) bool { return s.NeverFits && s.Nodes == 7 },
		"a job longer than all others": func(s JobTemplate) bool { return s.Seconds > 20 },
	} {
		found := false
		for _, s := range shapes {
			found = found || is(s)
		}
		if !found {
			t.Errorf("%s is missing", name)
		}
	}
}

func newJob(id uint32, state string, options ...func(*slurm.Job)) *slurm.Job {
	j := &slurm.Job{ID: id, State: slurm.ParseJobState(strings.Split(state, "+")...)}
	for _, o := range options {
		o(j)
	}
	return j
}

func asArrayTask(of uint32, tasks string) func(*slurm.Job) {
	return func(j *slurm.Job) { j.ArrayJobID, j.ArrayTasks = of, tasks }
}

func asRestarted(j *slurm.Job) { j.Restarts = 1 }

func TestOutcomeOfAJob(t *testing.T) {
	type counts struct{ Pending, Running, Done, Failed, Missing int }
	array := JobTemplate{Array: "1-4", Tasks: 4}
	for name, c := range map[string]struct {
		shape JobTemplate
		jobs  []*slurm.Job
		want  counts
		over  bool
	}{
		"Slurm has no record of the job": {array, nil, counts{Missing: 4}, false},
		"a pending array": {array, []*slurm.Job{newJob(7, "PENDING", asArrayTask(7, "1-4"))},
			counts{Pending: 4}, false},
		"an array that has started": {array, []*slurm.Job{newJob(7, "PENDING", asArrayTask(7, "4")),
			newJob(8, "RUNNING", asArrayTask(7, "")), newJob(9, "COMPLETED+COMPLETING", asArrayTask(7, "")),
			newJob(10, "COMPLETED", asArrayTask(7, ""))}, counts{1, 2, 1, 0, 0}, false},
		"jobs of others do not count": {array,
			[]*slurm.Job{newJob(1, "RUNNING"), newJob(2, "COMPLETED", asArrayTask(1, ""))}, counts{Missing: 4}, false},
		"a completed job":   {JobTemplate{Tasks: 1}, []*slurm.Job{newJob(7, "COMPLETED")}, counts{Done: 1}, true},
		"a job that failed": {JobTemplate{Tasks: 1}, []*slurm.Job{newJob(7, "FAILED")}, counts{Failed: 1}, true},
		"a job whose worker was lost": {JobTemplate{Tasks: 1}, []*slurm.Job{newJob(7, "NODE_FAIL")}, counts{Failed: 1},
			true},
		"a restarted job": {JobTemplate{Tasks: 1}, []*slurm.Job{newJob(7, "COMPLETED", asRestarted)},
			counts{Failed: 1}, true},
		"a job that a user cancelled": {JobTemplate{Tasks: 1}, []*slurm.Job{newJob(7, "CANCELLED")}, counts{Failed: 1},
			true},
		"a job that never fits is pending": {JobTemplate{Tasks: 1, NeverFits: true}, []*slurm.Job{newJob(7, "PENDING")},
			counts{Pending: 1}, false},
		"a job that never fits is cancelled": {JobTemplate{Tasks: 1, NeverFits: true},
			[]*slurm.Job{newJob(7, "CANCELLED")},
			counts{Done: 1}, true},
	} {
		o := Outcome{JobTemplate: c.shape, ID: 7}.UpdatedFrom(c.jobs)
		if d := cmp.Diff(c.want, counts{o.Pending, o.Running, o.Done, o.Failed, o.Missing()}); d != "" ||
			o.Finished() != c.over {
			t.Errorf("%s: finished is %v; %s", name, o.Finished(), d)
		}
	}
}

func TestTheSummaryNamesLostJobs(t *testing.T) {
	outcomes := []Outcome{
		{JobTemplate: JobTemplate{Title: "good", Tasks: 3}, ID: 1, Done: 3},
		{JobTemplate: JobTemplate{Title: "bad", Tasks: 2}, ID: 2, Done: 1, Failed: 1,
			Failure: "job 3 is NODE_FAIL after 0 restarts"},
		{JobTemplate: JobTemplate{Title: "gone", Tasks: 2}, ID: 4},
		{JobTemplate: JobTemplate{Title: "refused", Tasks: 1}, Refusal: "no such partition"},
		{JobTemplate: JobTemplate{Title: "huge", Tasks: 1, NeverFits: true}, ID: 5, Cancelled: true, Done: 1},
	}
	want := Summary{
		Jobs: 8, Ran: 4,
		Lost: []string{
			"bad (job 2): 1 failed or restarted, job 3 is NODE_FAIL after 0 restarts",
			"gone (job 4): 2 unknown to Slurm",
			"refused (job 0): 1 unknown to Slurm, no such partition",
		},
		NeverFits: []string{"huge: reported as unsatisfiable, no worker started for it, cancelled"},
	}
	if d := cmp.Diff(want, Summarize(outcomes, true)); d != "" {
		t.Error(d)
	}
}

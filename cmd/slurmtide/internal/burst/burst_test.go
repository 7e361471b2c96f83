package burst

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestArgumentsOfSbatch(t *testing.T) {
	for name, c := range map[string]struct {
		shape Shape
		want  string
	}{
		"a single job": {Shape{Seconds: 5}, "--wrap=sleep 5"},
		"an array": {Shape{Array: "1-8", Exclusive: true, Seconds: 8},
			"--array=1-8 --exclusive --wrap=sleep 8"},
		"several nodes": {Shape{Nodes: 4, Seconds: 8}, "-N4 --wrap=srun hostname; sleep 8"},
		"a GPU": {Shape{Partition: "gpu", GRES: "gpu:h100:1", Seconds: 1},
			"-pgpu --gres=gpu:h100:1 --wrap=sleep 1"},
		"a feature, anywhere": {Shape{Partition: "all", Features: "gpu", Seconds: 1}, "-pall -Cgpu --wrap=sleep 1"},
	} {
		want := "--job-name=demo --output=/dev/null " + c.want
		if d := cmp.Diff(want, strings.Join(c.shape.Args(), " ")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestTheBurstHasEveryShape(t *testing.T) {
	shapes := Shapes(6)
	for name, is := range map[string]func(Shape) bool{
		"an array":                     func(s Shape) bool { return s.Array != "" && s.Tasks > 1 },
		"a job of several nodes":       func(s Shape) bool { return s.Nodes > 1 && s.Nodes <= 6 },
		"a job with a feature":         func(s Shape) bool { return s.Features != "" },
		"a job with GRES":              func(s Shape) bool { return s.GRES != "" },
		"a job of too many nodes":      func(s Shape) bool { return s.Unfit && s.Nodes == 7 },
		"a job longer than all others": func(s Shape) bool { return s.Seconds > 20 },
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

func job(id uint32, state string, options ...func(*slurm.Job)) *slurm.Job {
	j := &slurm.Job{ID: id, State: slurm.ParseJobState(strings.Split(state, "+")...)}
	for _, o := range options {
		o(j)
	}
	return j
}

func task(of uint32, tasks string) func(*slurm.Job) {
	return func(j *slurm.Job) { j.ArrayJobID, j.ArrayTasks = of, tasks }
}

func restarted(j *slurm.Job) { j.Restarts = 1 }

func TestWhatBecameOfAShape(t *testing.T) {
	type counts struct{ Pending, Running, Done, Failed, Missing int }
	array := Shape{Array: "1-4", Tasks: 4}
	for name, c := range map[string]struct {
		shape Shape
		jobs  []*slurm.Job
		want  counts
		over  bool
	}{
		"Slurm has no record of the job": {array, nil, counts{Missing: 4}, false},
		"a pending array": {array, []*slurm.Job{job(7, "PENDING", task(7, "1-4"))},
			counts{Pending: 4}, false},
		"an array that has started": {array, []*slurm.Job{job(7, "PENDING", task(7, "4")),
			job(8, "RUNNING", task(7, "")), job(9, "COMPLETED+COMPLETING", task(7, "")),
			job(10, "COMPLETED", task(7, ""))}, counts{1, 2, 1, 0, 0}, false},
		"jobs of others do not count": {array,
			[]*slurm.Job{job(1, "RUNNING"), job(2, "COMPLETED", task(1, ""))}, counts{Missing: 4}, false},
		"a completed job":   {Shape{Tasks: 1}, []*slurm.Job{job(7, "COMPLETED")}, counts{Done: 1}, true},
		"a job that failed": {Shape{Tasks: 1}, []*slurm.Job{job(7, "FAILED")}, counts{Failed: 1}, true},
		"a job whose worker was lost": {Shape{Tasks: 1}, []*slurm.Job{job(7, "NODE_FAIL")}, counts{Failed: 1},
			true},
		"a restarted job": {Shape{Tasks: 1}, []*slurm.Job{job(7, "COMPLETED", restarted)},
			counts{Failed: 1}, true},
		"a job that a user cancelled": {Shape{Tasks: 1}, []*slurm.Job{job(7, "CANCELLED")}, counts{Failed: 1},
			true},
		"a job that never fits is pending": {Shape{Tasks: 1, Unfit: true}, []*slurm.Job{job(7, "PENDING")},
			counts{Pending: 1}, false},
		"a job that never fits is cancelled": {Shape{Tasks: 1, Unfit: true}, []*slurm.Job{job(7, "CANCELLED")},
			counts{Done: 1}, true},
	} {
		o := Outcome{Shape: c.shape, ID: 7}.See(c.jobs)
		if d := cmp.Diff(c.want, counts{o.Pending, o.Running, o.Done, o.Failed, o.Missing()}); d != "" ||
			o.Over() != c.over {
			t.Errorf("%s: finished is %v; %s", name, o.Over(), d)
		}
	}
}

func TestTheSumNamesWhatIsLost(t *testing.T) {
	outcomes := []Outcome{
		{Shape: Shape{Title: "good", Tasks: 3}, ID: 1, Done: 3},
		{Shape: Shape{Title: "bad", Tasks: 2}, ID: 2, Done: 1, Failed: 1,
			Trouble: "job 3 is NODE_FAIL after 0 restarts"},
		{Shape: Shape{Title: "gone", Tasks: 2}, ID: 4},
		{Shape: Shape{Title: "refused", Tasks: 1}, Refused: "no such partition"},
		{Shape: Shape{Title: "huge", Tasks: 1, Unfit: true}, ID: 5, Cancelled: true, Done: 1},
	}
	want := Summary{
		Jobs: 8, Ran: 4,
		Lost: []string{
			"bad (job 2): 1 failed or restarted, job 3 is NODE_FAIL after 0 restarts",
			"gone (job 4): 2 unknown to Slurm",
			"refused (job 0): 1 unknown to Slurm, no such partition",
		},
		Unfit: []string{"huge: reported as unsatisfiable, no worker started for it, cancelled"},
	}
	if d := cmp.Diff(want, Sum(outcomes, true)); d != "" {
		t.Error(d)
	}
}

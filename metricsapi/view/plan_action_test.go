package view

import (
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestPlanNodeAction(t *testing.T) {
	for _, tc := range []struct {
		name, verb, states, reason, asked, want string
	}{
		{"a drain has the user in its reason", "drain", "MIXED", "", "bad\n disk", "drain n1: bad disk [alice]"},
		{"a drain without a reason", "drain", "IDLE", "", " ", "a drain needs a reason"},
		{"a drain whose reason ends early for slurmctld", "drain", "IDLE", "", "disk\x00", "control characters"},
		{"a drain that moves the cursor of who reads it", "drain", "IDLE", "", "disk\x1b[2J", "control characters"},
		{"a drain in the name of the operator", "drain", "IDLE", "", "slurm-operator: scale-in", "is the operator's"},
		{"a long reason", "drain", "IDLE", "", strings.Repeat("x", 257), "more than 256 bytes"},
		{"a drain of somebody else", "drain", "IDLE+DRAIN", "health check", "disk", "is drained already: health check (root)"},
		{"a record that no worker has taken", "drain", "FUTURE", "", "disk", "does not exist yet"},
		{"the end of a drain", "resume", "MIXED+DRAIN", "disk", "", "resume n1: "},
		{"a node that is down", "resume", "DOWN", "fan", "", "resume n1: "},
		{"a failing node", "resume", "IDLE+FAIL", "fan", "", "resume n1: "},
		{"a drain of the operator", "resume", "IDLE+DRAIN", "slurm-operator: scale-in", "", "ends the drain itself"},
		{"a node in service", "resume", "IDLE", "", "", "neither drained nor down"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := &slurm.Node{Name: "n1", State: slurm.ParseNodeState(strings.Split(tc.states, "+")...), Reason: tc.reason, ReasonBy: "root"}
			a, err := planNodeAction(tc.verb, "alice", v1alpha1.SlurmActionSpec{Reason: tc.asked}, n)
			got := a.Verb + " " + a.Node + ": " + a.Reason
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tc.want) || (err != nil) != IsRefusal(err) {
				t.Errorf("it is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestPlanJobActionNamesOneJobOnly(t *testing.T) {
	task := func(n int64) *int64 { return &n }
	for _, tc := range []struct {
		name, verb string
		task       *int64
		change     func(j *slurm.Job)
		want       string
	}{
		{"a job", "cancel", nil, func(*slurm.Job) {}, "7"},
		{"a task, by its index: the ID may be the one of the array", "cancel", nil,
			func(j *slurm.Job) { j.ArrayJobID, j.ArrayTaskID = 7, slurm.Num(3) }, "7_3"},
		{"a task that is not split off", "cancel", task(5), func(j *slurm.Job) { j.ArrayJobID, j.ArrayTasks = 7, "4-9%2" }, "7_5"},
		{"the waiting tasks of an array", "cancel", nil, func(j *slurm.Job) { j.ArrayJobID, j.ArrayTasks = 7, "4-9%2" },
			"name one of them in arrayTaskID"},
		{"a task that runs already", "cancel", task(3), func(j *slurm.Job) { j.ArrayJobID, j.ArrayTasks = 7, "4-9%2" },
			"the task 3 is not one of 4-9%2"},
		{"a negative task", "cancel", task(-1), func(j *slurm.Job) { j.ArrayJobID, j.ArrayTasks = 7, "0-9" }, "is not one of"},
		{"another task than the record", "cancel", task(4), func(j *slurm.Job) { j.ArrayJobID, j.ArrayTaskID = 7, slurm.Num(3) },
			"the record is task 3"},
		{"a negative task of the record of task 0", "cancel", task(-1), func(j *slurm.Job) { j.ArrayJobID, j.ArrayTaskID = 7, slurm.Num(0) },
			"the record is task 0"},
		{"a task of a job that is no array", "cancel", task(3), func(*slurm.Job) {}, "the job is no array"},
		{"a component", "cancel", nil, func(j *slurm.Job) { j.HetJobID = 7 }, "a part of a heterogeneous job"},
		{"a job that has ended", "cancel", nil, func(j *slurm.Job) { j.State.Base = slurm.JobFailed }, "the job has ended"},
		{"a pending job is held", "hold", nil, func(*slurm.Job) {}, "7"},
		{"a running job is not held", "hold", nil, func(j *slurm.Job) { j.State.Base = slurm.JobRunning }, "only a pending job"},
		{"a job is not held twice", "hold", nil, func(j *slurm.Job) { j.Hold = true }, "held already"},
		{"a held job is released", "release", nil, func(j *slurm.Job) { j.Priority = slurm.Num(0) }, "7"},
		{"a job that is not held", "release", nil, func(*slurm.Job) {}, "is not held"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			j := &slurm.Job{ID: 7, State: slurm.ParseJobState("PENDING"), Priority: slurm.Num(100)}
			tc.change(j)
			a, err := planJobAction(tc.verb, "alice", v1alpha1.SlurmActionSpec{ArrayTaskID: tc.task}, j)
			got := a.JobID
			if err != nil {
				got = err.Error()
			}
			if err == nil && got != tc.want || !strings.Contains(got, tc.want) {
				t.Errorf("it is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAJobThatGotTheIDOfAnotherIsLeftAlone(t *testing.T) {
	job := func(id uint32, submitted slurm.Time, user uint32) *slurm.Job {
		return &slurm.Job{ID: id, SubmitTime: submitted, SharedOwner: slurm.ShareOwner(slurm.JobOwner{UserID: user})}
	}
	for _, tc := range []struct {
		name      string
		newer     []*slurm.Job
		isRefused bool
	}{
		{"the job", []*slurm.Job{job(7, 100, 1000)}, false},
		{"the job among the tasks of its array", []*slurm.Job{job(9, 100, 1000), job(7, 100, 1000)}, false},
		{"no job", nil, true},
		{"another user's job", []*slurm.Job{job(7, 100, 1001)}, true},
		{"a later job of the user", []*slurm.Job{job(7, 101, 1000)}, true},
		{"another task alone", []*slurm.Job{job(9, 100, 1000)}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := Action{Verb: "cancel", JobID: "7", Job: job(7, 100, 1000)}.RecheckJob(tc.newer)
			if IsRefusal(err) != tc.isRefused || (err != nil) != tc.isRefused {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestANodeIsReadAgainBeforeTheAction(t *testing.T) {
	node := func(states, reason string) *slurm.Node {
		return &slurm.Node{Name: "n1", State: slurm.ParseNodeState(strings.Split(states, "+")...), Reason: reason, ReasonBy: "bob"}
	}
	for _, tc := range []struct {
		name, verb   string
		seen, newer  *slurm.Node
		wantedReason string
	}{
		{"a drain", "drain", node("IDLE", ""), node("MIXED", ""), ""},
		{"a drain that somebody else was faster with", "drain", node("IDLE", ""), node("IDLE+DRAIN", "fire"), "is drained already: fire (bob)"},
		{"a resume", "resume", node("IDLE+DRAIN", "disk"), node("IDLE+DRAIN", "disk"), ""},
		{"a resume of a node that returned by itself", "resume", node("DOWN", "disk"), node("IDLE", ""), "neither drained nor down"},
		{"a resume of a node that somebody else has drained since", "resume", node("IDLE+DRAIN", "disk"), node("IDLE+DRAIN", "fire"),
			"has another reason since: fire (bob)"},
		{"a resume of a node that the operator has drained since", "resume", node("DOWN", "disk"), node("IDLE+DRAIN", "slurm-operator: scale-in"),
			"ends the drain itself"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, err := planNodeAction(tc.verb, "alice", v1alpha1.SlurmActionSpec{Reason: "x"}, tc.seen)
			if err != nil {
				t.Fatal(err)
			}
			err = a.Recheck(tc.newer)
			if (err == nil) != (tc.wantedReason == "") || err != nil && (!IsRefusal(err) || !strings.Contains(err.Error(), tc.wantedReason)) {
				t.Errorf("Recheck = %v, want %q", err, tc.wantedReason)
			}
		})
	}
}

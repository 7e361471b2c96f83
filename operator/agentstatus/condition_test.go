package agentstatus

import (
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// newSet returns a StatefulSet with the given number of ready slurmctlds.
func newSet(ready int32) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "slurm-controller", Generation: 2}}
	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: 2, ReadyReplicas: ready}
	return set
}

func TestReady(t *testing.T) {
	outdated := newSet(1)
	outdated.Status.ObservedGeneration = 1
	for _, tc := range []struct {
		name     string
		set      *appsv1.StatefulSet
		replicas int
		problem  *problem.Error
		want     metav1.Condition
	}{
		{"nothing exists", nil, 1, nil, metav1.Condition{Status: "False", Reason: "Progressing",
			Message: "the StatefulSet of slurmctld is being created"}},
		{"its controller has not seen it", outdated, 1, nil, metav1.Condition{Status: "False", Reason: "Progressing",
			Message: "StatefulSet slurm-controller is being updated"}},
		{"no pod is ready", newSet(0), 1, nil, metav1.Condition{Status: "False", Reason: "Progressing",
			Message: "no pod of StatefulSet slurm-controller is ready"}},
		{"it is ready", newSet(1), 1, nil, metav1.Condition{Status: "True", Reason: "Available",
			Message: "slurmctld is ready"}},
		{"a backup is not", newSet(2), 3, nil, metav1.Condition{Status: "True", Reason: "Available",
			Message: "2 of 3 slurmctlds are ready"}},
		{"a problem counts more than what runs", newSet(1), 1, &problem.Error{Reason: "InvalidSpec", Message: "spec.extraConf"},
			metav1.Condition{Status: "False", Reason: "InvalidSpec", Message: "spec.extraConf"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := Observation{Daemon: "slurmctld", Set: tc.set, Replicas: tc.replicas, Problem: tc.problem}
			if got := o.Ready(); got != tc.want {
				t.Errorf("the condition is %+v, not %+v", got, tc.want)
			}
		})
	}
}

func TestConfigApplied(t *testing.T) {
	agent := func(wanted, applied, refusal string) Agent {
		return Agent{Pod: "slurm-controller-0", Status: configagent.Status{Wanted: wanted, Applied: applied, Error: refusal}}
	}
	follower := Agent{Pod: "slurm-controller-1", Status: configagent.Status{Wanted: "new", Applied: "old", Following: "old"}}
	for _, tc := range []struct {
		name    string
		problem *problem.Error
		agents  []Agent
		want    metav1.Condition
		settled bool
	}{
		{"no agent", nil, nil, metav1.Condition{Status: "False", Reason: "Applying",
			Message: "revision new is being checked and applied"}, false},
		{"the kubelet has not brought it", nil, []Agent{agent("old", "old", "")}, metav1.Condition{Status: "False",
			Reason: "Applying", Message: "revision new is being checked and applied"}, false},
		{"it is in force", nil, []Agent{agent("new", "new", "")}, metav1.Condition{Status: "True", Reason: "Applied",
			Message: "revision new is in force"}, true},
		{"one of two has it", nil, []Agent{agent("new", "new", ""), agent("new", "old", "")}, metav1.Condition{
			Status: "False", Reason: "Applying", Message: "revision new is being checked and applied"}, false},
		{"it is refused", nil, []Agent{agent("new", "old", "line 3")}, metav1.Condition{Status: "False",
			Reason: "Refused", Message: "revision new is not applied: line 3; revision old stays in force"}, true},
		{"the first one is refused", nil, []Agent{agent("new", "", "line 3")}, metav1.Condition{Status: "False",
			Reason: "Refused", Message: "revision new is not applied: line 3; slurmctld waits for another one"}, true},
		{"an older one was refused", nil, []Agent{agent("old", "older", "line 3")}, metav1.Condition{Status: "False",
			Reason: "Applying", Message: "revision new is being checked and applied"}, false},
		{"no answer", nil, []Agent{{Pod: "slurm-controller-0", Err: errors.New("refused")}}, metav1.Condition{
			Status: "Unknown", Reason: "NotObserved", Message: "the agent of pod slurm-controller-0 does not answer"}, false},
		{"it is tried again", nil, []Agent{{Status: configagent.Status{Wanted: "new", Applied: "old", Error: "the disk is full",
			RetryAt: time.Unix(1, 0)}}}, metav1.Condition{Status: "False", Reason: "Retrying",
			Message: "revision new is not applied: the disk is full; revision old stays in force"}, false},
		{"it has failed, and slurmctld does not come back", nil, []Agent{{Status: configagent.Status{Wanted: "new", Given: "new",
			Error: "no answer", RetryAt: time.Unix(1, 0)}}}, metav1.Condition{Status: "False", Reason: "Retrying",
			Message: "revision new is not applied: no answer; slurmctld does not answer, so that nobody knows which revision " +
				"it has"}, false},
		{"slurmctld starts with it", nil, []Agent{{Status: configagent.Status{Wanted: "new", Given: "new"}}},
			metav1.Condition{Status: "False", Reason: "Applying", Message: "revision new is being checked and applied"}, false},
		{"it is held", nil, []Agent{{Status: configagent.Status{Wanted: "new", Applied: "old",
			Held: &configagent.Held{Reason: "PartitionInUse", Message: "job 5"}}}}, metav1.Condition{Status: "False",
			Reason: "PartitionInUse", Message: "revision new is not applied: job 5; to apply it now and end these jobs: " +
				"kubectl annotate controllers.slinky.slurm.net -n ns c --overwrite slinky.slurm.net/force-revision=new; " +
				"revision old stays in force"}, false},
		{"it waits for slurmdbd, without which slurmctld would not start", nil, []Agent{{Status: configagent.Status{Wanted: "new",
			Applied: "old", Held: &configagent.Held{Reason: "SlurmdbdDown", Message: "it adds TRES"}}}}, metav1.Condition{Status: "False",
			Reason: "SlurmdbdDown", Message: "revision new is not applied: it adds TRES; revision old stays in force"}, false},
		{"it is in force, and its hand-out is held", nil, []Agent{{Status: configagent.Status{Wanted: "new", Applied: "new",
			Held: &configagent.Held{Reason: "GresInUse", Message: "job 5"}}}}, metav1.Condition{Status: "False",
			Reason: "GresInUse", Message: "revision new is in force, but: job 5; to apply it now and end these jobs: " +
				"kubectl annotate controllers.slinky.slurm.net -n ns c --overwrite slinky.slurm.net/force-revision=new"}, false},
		{"it is in force, and its hand-out is tried again", nil, []Agent{{Status: configagent.Status{Wanted: "new", Applied: "new",
			Error: "no answer", RetryAt: time.Unix(1, 0)}}}, metav1.Condition{Status: "False", Reason: "Retrying",
			Message: "revision new is in force, but: no answer"}, false},
		{"the one that serves holds it, and the other one follows", nil, []Agent{follower, {Status: configagent.Status{Wanted: "new",
			Applied: "old", Held: &configagent.Held{Reason: "NameTaken", Message: "node w-0"}}}}, metav1.Condition{Status: "False",
			Reason: "NameTaken", Message: "revision new is not applied: node w-0; revision old stays in force"}, false},
		{"the one that serves refuses it, and the other one follows", nil, []Agent{agent("new", "old", "line 3"), follower},
			metav1.Condition{Status: "False", Reason: "Refused",
				Message: "revision new is not applied: line 3; revision old stays in force"}, true},
		{"the one that serves has not got it, and the other one follows", nil, []Agent{agent("old", "old", ""), follower},
			metav1.Condition{Status: "False", Reason: "Applying", Message: "revision new is being checked and applied; " +
				"pod slurm-controller-1 follows revision old of the slurmctld that serves"}, false},
		{"the other one cannot follow", nil, []Agent{agent("new", "new", ""), {Pod: "slurm-controller-1", Status: configagent.Status{
			Wanted: "new", Applied: "older", Following: "old", Error: "the disk is full", RetryAt: time.Unix(1, 0)}}},
			metav1.Condition{Status: "False", Reason: "Applying", Message: "revision new is being checked and applied; pod " +
				"slurm-controller-1 follows revision old of the slurmctld that serves, which waits: the disk is full"}, false},
		{"it is in force, and the other one is about to get it", nil, []Agent{agent("new", "new", ""), follower},
			metav1.Condition{Status: "False", Reason: "Applying", Message: "revision new is being checked and applied; " +
				"pod slurm-controller-1 follows revision old of the slurmctld that serves"}, false},
		{"it cannot be rendered", &problem.Error{Reason: "InvalidSpec", Message: "no"}, []Agent{agent("new", "new", "")}, metav1.Condition{
			Status: "False", Reason: "InvalidSpec", Message: "no"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := Observation{Daemon: "slurmctld", Replicas: 1, Problem: tc.problem, Revision: "new", Agents: tc.agents,
				Object: "controllers.slinky.slurm.net -n ns c"}
			if got := o.ConfigApplied(); got != tc.want {
				t.Errorf("the condition is %+v, not %+v", got, tc.want)
			}
			if o.IsSettled() != tc.settled {
				t.Errorf("settled is %t", o.IsSettled())
			}
		})
	}
}

// TestWithoutConfiguration: no configuration is written yet, or its ConfigMap is missing.
func TestWithoutConfiguration(t *testing.T) {
	want := metav1.Condition{Status: "False", Reason: "Applying", Message: "the configuration of slurmctld is being written"}
	for _, status := range []configagent.Status{{}, {Wanted: "1", Error: "line 3"}, {Wanted: "1", Given: "1"}, {Wanted: "1", Applied: "1"}} {
		o := Observation{Daemon: "slurmctld", Replicas: 1, Agents: []Agent{{Status: status}}}
		if got := o.ConfigApplied(); got != want {
			t.Errorf("%+v: the condition is %+v, want %+v", status, got, want)
		}
		if o.IsSettled() || o.RequeueAfter() == resyncInterval {
			t.Errorf("%+v: settled is %t, and it is observed again after %s", status, o.IsSettled(), o.RequeueAfter())
		}
	}
}

func TestIsStarting(t *testing.T) {
	running := []Agent{{Status: configagent.Status{Applied: "1"}}}
	for _, tc := range []struct {
		name string
		o    Observation
		want bool
	}{
		{"nothing exists", Observation{}, false},
		{"no agent answers", Observation{Set: newSet(0), Agents: []Agent{{Err: errors.New("refused")}}}, false},
		{"it has no configuration", Observation{Set: newSet(0), Agents: []Agent{{}}}, false},
		{"it has its configuration", Observation{Set: newSet(0), Agents: running}, true},
		{"it was given its configuration", Observation{Set: newSet(0),
			Agents: []Agent{{Status: configagent.Status{Given: "1"}}}}, true},
		{"it is ready", Observation{Set: newSet(1), Agents: running}, false},
		{"there is a problem", Observation{Set: newSet(0), Agents: running, Problem: &problem.Error{}}, false},
	} {
		if got := tc.o.IsStarting(); got != tc.want {
			t.Errorf("%s: %t", tc.name, got)
		}
	}
}

func TestRequeueAfter(t *testing.T) {
	silent := Agent{Err: errors.New("refused")}
	for _, tc := range []struct {
		name   string
		agents []Agent
		want   time.Duration
	}{
		{"no pod", nil, silentInterval},
		{"no answer", []Agent{silent}, silentInterval},
		{"one works on it", []Agent{silent, {Status: configagent.Status{Wanted: "new"}}}, settlingInterval},
		{"one holds it", []Agent{silent, {Status: configagent.Status{Wanted: "new", Held: &configagent.Held{}}}},
			silentInterval},
		{"one tries it again", []Agent{silent, {Status: configagent.Status{Wanted: "new", Error: "x", RetryAt: time.Unix(1, 0)}}},
			silentInterval},
		{"one does not hand it out yet", []Agent{{Status: configagent.Status{Applied: "new"}},
			{Status: configagent.Status{Wanted: "new", Applied: "new", Held: &configagent.Held{}}}}, silentInterval},
		{"one follows the other one, which holds it", []Agent{{Status: configagent.Status{Wanted: "new", Held: &configagent.Held{}}},
			{Status: configagent.Status{Wanted: "new", Applied: "old", Following: "old"}}}, silentInterval},
		{"both have it", []Agent{{Status: configagent.Status{Applied: "new"}}, {Status: configagent.Status{Applied: "new"}}},
			resyncInterval},
	} {
		if got := (Observation{Replicas: 2, Revision: "new", Agents: tc.agents}).RequeueAfter(); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

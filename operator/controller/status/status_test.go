package status

import (
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/agentstatus"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/problem"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// newSet returns a StatefulSet with so many ready slurmctlds.
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
		external bool
		set      *appsv1.StatefulSet
		replicas int
		problem  *problem.Error
		want     metav1.Condition
	}{
		{"nothing exists", false, nil, 1, nil, metav1.Condition{Status: "False", Reason: "Progressing",
			Message: "the StatefulSet of slurmctld is being created"}},
		{"its controller has not seen it", false, outdated, 1, nil, metav1.Condition{Status: "False", Reason: "Progressing",
			Message: "StatefulSet slurm-controller is being updated"}},
		{"no pod is ready", false, newSet(0), 1, nil, metav1.Condition{Status: "False", Reason: "Progressing",
			Message: "no pod of StatefulSet slurm-controller is ready"}},
		{"it is ready", false, newSet(1), 1, nil, metav1.Condition{Status: "True", Reason: "Available",
			Message: "slurmctld is ready"}},
		{"a backup is not", false, newSet(2), 3, nil, metav1.Condition{Status: "True", Reason: "Available",
			Message: "2 of 3 slurmctlds are ready"}},
		{"a problem counts more than what runs", false, newSet(1), 1, &problem.Error{Reason: "InvalidSpec", Message: "spec.extraConf"},
			metav1.Condition{Status: "False", Reason: "InvalidSpec", Message: "spec.extraConf"}},
		{"it runs elsewhere", true, nil, 0, nil, metav1.Condition{Status: "Unknown", Reason: "External",
			Message: "the operator does not run the slurmctld at ctl.example.com:6817"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
			c.Spec.SlurmKeyRef, c.Spec.External = &corev1.SecretKeySelector{}, tc.external
			if tc.external {
				c.Spec.ExternalConfig = &v1beta1.ExternalConfig{Host: "ctl.example.com"}
			}
			got := *meta.FindStatusCondition(Of(noon, c, Observation{Set: tc.set,
				Observation: agentstatus.Observation{Replicas: tc.replicas, Problem: tc.problem}}).Conditions, v1beta1.ConditionReady)
			tc.want.Type, tc.want.ObservedGeneration, tc.want.LastTransitionTime = "Ready", 7, metav1.NewTime(noon)
			if got != tc.want {
				t.Errorf("the condition is %+v, not %+v", got, tc.want)
			}
		})
	}
}

// TestUnchangedStatusStays: the time of a condition is that of its last change.
func TestUnchangedStatusStays(t *testing.T) {
	c := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
	c.Status = Of(noon, c, Observation{Set: newSet(1)})
	later := Of(noon.Add(time.Hour), c, Observation{Set: newSet(1)})
	if at := later.Conditions[0].LastTransitionTime; !at.Time.Equal(noon) {
		t.Errorf("the condition is of %v", at)
	}
}

func TestConfigApplied(t *testing.T) {
	agent := func(wanted, applied, refusal string) agentstatus.Agent {
		return agentstatus.Agent{Pod: "slurm-controller-0", Status: configagent.Status{Wanted: wanted, Applied: applied, Error: refusal}}
	}
	for _, tc := range []struct {
		name    string
		problem *problem.Error
		agents  []agentstatus.Agent
		want    metav1.Condition
		settled bool
	}{
		{"no agent", nil, nil, metav1.Condition{Status: "False", Reason: "Applying",
			Message: "revision new is being checked and applied"}, false},
		{"the kubelet has not brought it", nil, []agentstatus.Agent{agent("old", "old", "")}, metav1.Condition{Status: "False",
			Reason: "Applying", Message: "revision new is being checked and applied"}, false},
		{"it is in force", nil, []agentstatus.Agent{agent("new", "new", "")}, metav1.Condition{Status: "True", Reason: "Applied",
			Message: "revision new is in force"}, true},
		{"one of two has it", nil, []agentstatus.Agent{agent("new", "new", ""), agent("new", "old", "")}, metav1.Condition{
			Status: "False", Reason: "Applying", Message: "revision new is being checked and applied"}, false},
		{"it is refused", nil, []agentstatus.Agent{agent("new", "old", "line 3")}, metav1.Condition{Status: "False",
			Reason: "Refused", Message: "revision new is not applied: line 3; revision old stays in force"}, true},
		{"the first one is refused", nil, []agentstatus.Agent{agent("new", "", "line 3")}, metav1.Condition{Status: "False",
			Reason: "Refused", Message: "revision new is not applied: line 3; slurmctld waits for another one"}, true},
		{"an older one was refused", nil, []agentstatus.Agent{agent("old", "older", "line 3")}, metav1.Condition{Status: "False",
			Reason: "Applying", Message: "revision new is being checked and applied"}, false},
		{"no answer", nil, []agentstatus.Agent{{Pod: "slurm-controller-0", Err: errors.New("refused")}}, metav1.Condition{
			Status: "Unknown", Reason: "NotObserved", Message: "the agent of pod slurm-controller-0 does not answer"}, false},
		{"it cannot be rendered", &problem.Error{Reason: "InvalidSpec", Message: "no"}, []agentstatus.Agent{agent("new", "new", "")}, metav1.Condition{
			Status: "False", Reason: "InvalidSpec", Message: "no"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := Observation{Set: newSet(1), Observation: agentstatus.Observation{Daemon: "slurmctld", Replicas: 1,
				Problem: tc.problem, Revision: "new", Agents: tc.agents}}
			c := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
			got := *meta.FindStatusCondition(Of(noon, c, o).Conditions, v1beta1.ConditionConfigApplied)
			tc.want.Type, tc.want.ObservedGeneration, tc.want.LastTransitionTime = "ConfigApplied", 7, metav1.NewTime(noon)
			if got != tc.want {
				t.Errorf("the condition is %+v, not %+v", got, tc.want)
			}
			if o.IsSettled() != tc.settled {
				t.Errorf("settled is %t", o.IsSettled())
			}
		})
	}
}

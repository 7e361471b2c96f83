package status

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/agentstatus"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func newReady() agentstatus.Observation {
	return agentstatus.Observation{Daemon: "slurmctld",
		Set: &appsv1.StatefulSet{Status: appsv1.StatefulSetStatus{ReadyReplicas: 1}}}
}

func TestConditions(t *testing.T) {
	c := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
	c.Status = Of(noon, c, newReady())
	ready := *meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionReady)
	if want := (metav1.Condition{Type: "Ready", Status: "True", Reason: "Available", Message: "slurmctld is ready",
		ObservedGeneration: 7, LastTransitionTime: metav1.NewTime(noon)}); ready != want {
		t.Errorf("the condition is %+v, not %+v", ready, want)
	}
	if meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionConfigApplied) == nil {
		t.Error("there is no condition ConfigApplied")
	}
	c.Spec.SlurmKeyRef = &corev1.SecretKeySelector{}
	c.Spec.External, c.Spec.ExternalConfig = true, &v1beta1.ExternalConfig{Host: "ctl.example.com"}
	c.Status = Of(noon, c, agentstatus.Observation{})
	ready = *meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionReady)
	if ready.Status != "Unknown" || ready.Message != "the operator does not run the slurmctld at ctl.example.com:6817" {
		t.Errorf("of an external slurmctld the condition is %+v", ready)
	}
	if c := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionConfigApplied); c != nil {
		t.Errorf("of an external slurmctld there is %+v", c)
	}
}

// TestGresTypesAreThoseInForce: they stay while no agent reports the files in force, and all slurmctlds must know
// them.
func TestGresTypesAreThoseInForce(t *testing.T) {
	agent := func(types ...string) agentstatus.Agent {
		return agentstatus.Agent{Status: configagent.Status{GresTypes: types}}
	}
	none := agentstatus.Agent{Status: configagent.Status{GresTypes: []string{}}}
	silent := agentstatus.Agent{Err: errors.New("no answer"), Status: configagent.Status{GresTypes: []string{"mps"}}}
	for name, tc := range map[string]struct {
		last   []string
		agents []agentstatus.Agent
		want   []string
	}{
		"nobody has told":                   {nil, []agentstatus.Agent{silent, {}}, nil},
		"an agent that has none in force":   {[]string{"gpu"}, []agentstatus.Agent{{}}, []string{"gpu"}},
		"an agent that does not answer":     {[]string{"gpu"}, []agentstatus.Agent{silent}, []string{"gpu"}},
		"others":                            {[]string{"gpu"}, []agentstatus.Agent{agent("nic", "gpu")}, []string{"nic", "gpu"}},
		"none":                              {[]string{"gpu"}, []agentstatus.Agent{none}, []string{}},
		"none for the first time":           {nil, []agentstatus.Agent{none}, []string{}},
		"a standby has not read them":       {nil, []agentstatus.Agent{agent("gpu", "nic"), agent("gpu")}, []string{"gpu"}},
		"a standby that does not answer":    {nil, []agentstatus.Agent{silent, agent("gpu")}, []string{"gpu"}},
		"a standby that has none in force":  {nil, []agentstatus.Agent{{}, agent("gpu")}, []string{"gpu"}},
		"an agent of an earlier version":    {[]string{"gpu"}, []agentstatus.Agent{{Status: configagent.Status{Applied: "1"}}}, nil},
		"a standby that knows none of them": {nil, []agentstatus.Agent{agent("gpu"), none}, []string{}},
	} {
		if diff := cmp.Diff(tc.want, gresTypesOf(tc.last, tc.agents)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestUnchangedStatusStays: the time of a condition is the time of its last change.
func TestUnchangedStatusStays(t *testing.T) {
	c := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
	c.Status = Of(noon, c, newReady())
	later := Of(noon.Add(time.Hour), c, newReady())
	if at := meta.FindStatusCondition(later.Conditions, v1beta1.ConditionReady).LastTransitionTime; !at.Time.Equal(noon) {
		t.Errorf("the condition is of %v", at)
	}
}

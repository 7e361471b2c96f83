package status

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/agentstatus"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
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

// TestGresTypesAreThoseInForce: they stay until another configuration is in force.
func TestGresTypesAreThoseInForce(t *testing.T) {
	var s v1beta1.ControllerStatus
	applied := func(is metav1.ConditionStatus) {
		v1beta1.SetCondition(&s.Conditions, v1beta1.ConditionConfigApplied, metav1.Condition{Status: is, Reason: "R"}, 1, noon)
	}
	for _, step := range []struct {
		is   metav1.ConditionStatus
		have []string
		want string
	}{{"False", []string{"gpu"}, ""}, {"True", []string{"gpu"}, "gpu"}, {"False", nil, "gpu"}, {"Unknown", []string{"nic"}, "gpu"},
		{"True", nil, ""}} {
		applied(step.is)
		if SetGresTypes(&s, step.have); strings.Join(s.GresTypes, ",") != step.want {
			t.Errorf("with %q and %s they are %q", step.have, step.is, s.GresTypes)
		}
	}
}

// TestUnchangedStatusStays: the time of a condition is that of its last change.
func TestUnchangedStatusStays(t *testing.T) {
	c := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
	c.Status = Of(noon, c, newReady())
	later := Of(noon.Add(time.Hour), c, newReady())
	if at := meta.FindStatusCondition(later.Conditions, v1beta1.ConditionReady).LastTransitionTime; !at.Time.Equal(noon) {
		t.Errorf("the condition is of %v", at)
	}
}

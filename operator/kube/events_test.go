package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
)

// TestEventsOfAppliedConditions: a revision that waits or is refused has an event, whatever the reason.
func TestEventsOfAppliedConditions(t *testing.T) {
	for reason, want := range map[string]string{
		v1beta1.ReasonApplied:          "Normal ConfigApplied new",
		v1beta1.ReasonApplying:         "",
		v1beta1.ReasonRefused:          "Warning ConfigRefused new",
		v1beta1.ReasonPartitionInUse:   "Warning ConfigHeld new",
		v1beta1.ReasonNodeInUse:        "Warning ConfigHeld new",
		v1beta1.ReasonGresInUse:        "Warning ConfigHeld new",
		v1beta1.ReasonReservationInUse: "Warning ConfigHeld new",
		v1beta1.ReasonUsersUnknown:     "Warning ConfigHeld new",
		v1beta1.ReasonSlurmdbdDown:     "Warning ConfigHeld new",
		v1beta1.ReasonTooManyJobs:      "Warning ConfigHeld new",
		v1beta1.ReasonNameTaken:        "Warning ConfigHeld new",
		v1beta1.ReasonRetrying:         "Warning ConfigNotApplied new",
		v1beta1.ReasonDryRun:           "Normal ConfigTried new",
	} {
		t.Run(reason, func(t *testing.T) {
			conditions := func(message string) []metav1.Condition {
				return []metav1.Condition{{Type: v1beta1.ConditionConfigApplied, Reason: reason, Message: message}}
			}
			recorder := events.NewFakeRecorder(2)
			RecordConfigApplied(recorder, &corev1.Pod{}, conditions("old"), conditions("new"))
			if got := kubetest.NextEvent(recorder); got != want {
				t.Errorf("the event is %q, want %q", got, want)
			}
			RecordConfigApplied(recorder, &corev1.Pod{}, conditions("new"), conditions("new"))
			if got := kubetest.NextEvent(recorder); got != "" {
				t.Errorf("the event is %q although nothing has changed", got)
			}
		})
	}
}

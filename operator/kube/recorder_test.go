package kube

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
)

func TestCuttingRecorder(t *testing.T) {
	recorder := events.NewFakeRecorder(2)
	for _, message := range []string{"50% of it", strings.Repeat("x", 5000)} {
		CuttingRecorder{recorder}.Eventf(&corev1.Pod{}, nil, "Warning", "R", "A", "%s", message)
		got := strings.TrimPrefix(<-recorder.Events, "Warning R ")
		if len(got) > maxNote || len(message) <= maxNote && got != message {
			t.Errorf("the note has %d bytes: %.50s", len(got), got)
		}
	}
}

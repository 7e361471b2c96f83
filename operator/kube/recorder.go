package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// maxNote is how many bytes the note of an event has at most. The API server refuses events with longer ones.
const maxNote = 1024

// CuttingRecorder cuts the notes of events that the API server would refuse.
type CuttingRecorder struct{ events.EventRecorder }

// Eventf records an event.
func (r CuttingRecorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	r.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s",
		v1beta1.CutText(fmt.Sprintf(note, args...), maxNote))
}

package behaviour

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
)

// TestEditedDrainTimesEndNoJob: a user writes times before the drain into the annotations of an old worker.
func TestEditedDrainTimesEndNoJob(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, nodesettest.WithDrainPolicy(v1beta1.DrainPolicy{
		Type: v1beta1.DrainTimeout, Timeout: &metav1.Duration{Duration: 24 * time.Hour}})))
	r.startWorkers()
	r.now = r.now.Add(72 * time.Hour)
	r.pollAndReconcile()
	r.slurm.Start(7, "gpu-0")
	r.scale(0)
	for range 3 {
		r.pollAndReconcile()
	}
	pod, old := r.pod("gpu-0"), r.now.Add(-48*time.Hour).UTC().Format(time.RFC3339)
	pod.Annotations[v1beta1.AnnotationDrainStarted], pod.Annotations[v1beta1.AnnotationDrained] = old, old
	r.must(r.Update(t.Context(), pod))
	for range 3 {
		r.pollAndReconcile()
	}
	if r.podNames() != "gpu-0" {
		t.Error("job 7 was ended a minute after scale-in, and the timeout is 24h")
	}
	r.now = r.now.Add(24 * time.Hour)
	for range 3 {
		r.pollAndReconcile()
	}
	if r.podNames() != "" {
		t.Error("the worker is still there after the timeout")
	}
}

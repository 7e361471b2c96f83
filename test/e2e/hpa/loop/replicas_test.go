//go:build e2e

package loop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/e2e/hpa/loop"
)

// TestAdapterReplicasRestartWithoutErrors ends each of two adapters in turn while an HPA syncs
// every second and clients request metrics as fast as they can.
func TestAdapterReplicasRestartWithoutErrors(t *testing.T) {
	l := startLoop(t, loop.Config{Adapters: 2}, "required-nodes")
	sbatch(t, l, "-N2", "--wrap", "sleep 600")
	awaitReplicas(t, l, 2, 2*time.Second+slack)

	load := l.StartQueryLoad(t.Context(), 4)
	for i := range 2 {
		gone := l.Adapters[i]
		begin := time.Now()
		requireNoError(t, gone.Stop())
		t.Logf("adapter %d ended after %v", i+1, time.Since(begin).Round(10*time.Millisecond))
		requireReplicas(t, l, 2, 3*time.Second)
		requireNoError(t, l.RestartAdapter(t.Context(), gone))
		requireNoError(t, l.AwaitReady(t.Context(), 2))
		requireReplicas(t, l, 2, 2*time.Second)
	}
	requests, failed := load.Stop()
	t.Logf("%d requests, %d failed: %v", requests, len(failed), failed)
	if requests < 100 || len(failed) > 0 {
		t.Errorf("%d requests, %d failed, want at least 100 and no failure", requests, len(failed))
	}
	events, err := l.Kube.Kubectl(t.Context(), "get", "events", "--namespace", loop.Namespace,
		"--field-selector=type=Warning,involvedObject.kind=HorizontalPodAutoscaler")
	requireNoError(t, err)
	if strings.Contains(events, "FailedGetObjectMetric") {
		t.Errorf("the HPA failed to sync:\n%s", events)
	}

	t.Run("killed", func(t *testing.T) { testKilledAdapter(t, l) })
}

// testKilledAdapter kills an adapter, as when its machine fails, and logs how many requests fail.
func testKilledAdapter(t *testing.T, l *loop.Loop) {
	load := l.StartQueryLoad(t.Context(), 4)
	last := l.Adapters[len(l.Adapters)-1]
	last.Kill()
	requireReplicas(t, l, 2, 5*time.Second)
	requests, failed := load.Stop()
	t.Logf("%d requests, %d failed when an adapter was killed: %v", requests, len(failed), failed)
	if _, err := l.Metric(t.Context(), "slurm_nodeset_required_nodes", ""); err != nil {
		t.Errorf("the other adapter does not answer: %v", err)
	}
	conditions, err := l.HPAConditions(t.Context())
	requireNoError(t, err)
	if !strings.HasPrefix(conditions["ScalingActive"], "True") {
		t.Errorf("the HPA's conditions are %v", conditions)
	}
}

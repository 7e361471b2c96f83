//go:build e2e

package loop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/loop"
)

// TestAReplicaOfTheAdapterMayGo ends each of two adapters in turn while an HPA syncs
// once a second and others ask as fast as they can.
func TestAReplicaOfTheAdapterMayGo(t *testing.T) {
	l := start(t, loop.Config{Adapters: 2}, "required-nodes")
	sbatch(t, l, "-N2", "--wrap", "sleep 600")
	await(t, l, 2, 2*time.Second+slack)

	load := l.Load(t.Context(), 4)
	for i := range 2 {
		gone := l.Adapters[i]
		begin := time.Now()
		must(t, gone.Stop())
		t.Logf("adapter %d has ended after %v", i+1, time.Since(begin).Round(10*time.Millisecond))
		hold(t, l, 2, 3*time.Second)
		must(t, l.RestartAdapter(t.Context(), gone))
		must(t, l.AwaitReady(t.Context(), 2))
		hold(t, l, 2, 2*time.Second)
	}
	asked, failed := load.Stop()
	t.Logf("%d queries, %d failed: %v", asked, len(failed), failed)
	if asked < 100 || len(failed) > 0 {
		t.Errorf("of %d queries %d failed", asked, len(failed))
	}
	events, err := l.Kube.Kubectl(t.Context(), "get", "events", "--namespace", loop.Namespace, "--field-selector=type=Warning,involvedObject.kind=HorizontalPodAutoscaler")
	must(t, err)
	if strings.Contains(events, "FailedGetObjectMetric") {
		t.Errorf("the HPA failed to sync:\n%s", events)
	}

	t.Run("at once", func(t *testing.T) { killed(t, l) })
}

// killed ends an adapter as when its machine dies, and tells how many queries that costs.
func killed(t *testing.T, l *loop.Loop) {
	load := l.Load(t.Context(), 4)
	last := l.Adapters[len(l.Adapters)-1]
	last.Kill()
	hold(t, l, 2, 5*time.Second)
	asked, failed := load.Stop()
	t.Logf("%d queries, %d failed when an adapter was killed: %v", asked, len(failed), failed)
	if _, err := l.Metric(t.Context(), "slurm_nodeset_required_nodes", ""); err != nil {
		t.Errorf("the other adapter does not answer: %v", err)
	}
	conditions, err := l.HPAConditions(t.Context())
	must(t, err)
	if !strings.HasPrefix(conditions["ScalingActive"], "True") {
		t.Errorf("the HPA is %v", conditions)
	}
}

//go:build e2e

package loop_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/e2e/hpa/loop"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// TestReplicasDoNotMoveDuringOutages interrupts the connection to Slurm in several ways, with busy
// workers and without workers.
func TestReplicasDoNotMoveDuringOutages(t *testing.T) {
	t.Parallel()
	var proxy *loop.Proxy
	l := startLoop(t, loop.Config{SlurmURL: func(url string) string {
		var err error
		proxy, err = loop.NewProxy(url)
		requireNoError(t, err)
		t.Cleanup(func() { requireNoError(t, proxy.Close()) })
		return proxy.URL
	}}, "required-nodes")
	id := sbatch(t, l, "-N3", "--wrap", "sleep 600")
	awaitReplicas(t, l, 3, 2*time.Second+slack)

	for _, fault := range []loop.Fault{loop.Refused, loop.Slow, loop.Failing, loop.Garbage, loop.Empty} {
		t.Run("slurmrestd is "+fault.String(), func(t *testing.T) {
			testOutage(t, l, 3, func() { proxy.Set(fault) }, func() { proxy.Set(loop.NoFault) })
		})
	}
	t.Run("slurmrestd is stopped", func(t *testing.T) {
		testOutage(t, l, 3, func() { requireNoError(t, l.Slurm.Stop(t.Context(), "slurmrestd")) },
			func() { requireNoError(t, l.Slurm.Start(t.Context(), "slurmrestd")) })
	})
	t.Run("slurmctld is down", func(t *testing.T) {
		testOutage(t, l, 3, func() { requireNoError(t, l.Slurm.Stop(t.Context(), "slurmctld")) },
			func() { requireNoError(t, l.Slurm.Start(t.Context(), "slurmctld")) })
	})
	t.Run("slurmctld hangs", func(t *testing.T) {
		testOutage(t, l, 3, func() { requireNoError(t, l.Slurm.Signal(t.Context(), "slurmctld", syscall.SIGSTOP)) },
			func() { requireNoError(t, l.Slurm.Signal(t.Context(), "slurmctld", syscall.SIGCONT)) })
	})
	t.Run("the token has expired", func(t *testing.T) {
		good := newToken(t, l, 3600)
		requireNoError(t, l.SetToken(t.Context(), newToken(t, l, 25)))
		requireNoError(t, l.Adapters[0].Stop())
		requireNoError(t, l.RestartAdapter(t.Context(), l.Adapters[0]))
		requireNoError(t, l.AwaitReady(t.Context(), 1))
		requireReplicas(t, l, 3, 2*time.Second)
		testOutage(t, l, 3, func() { time.Sleep(25 * time.Second) },
			func() { requireNoError(t, l.SetToken(t.Context(), good)) })
	})
	runSlurm(t, l, "scancel", id)
	awaitReplicas(t, l, 0, loop.WindowSeconds*time.Second+2*time.Second+2*slack)
	// Jobs submitted during an outage count after it.
	proxy.Set(loop.Failing)
	awaitError(t, l)
	sbatch(t, l, "-N2", "--wrap", "sleep 600")
	requireReplicas(t, l, 0, 5*time.Second)
	proxy.Set(loop.NoFault)
	awaitReplicas(t, l, 2, loop.MaxRecoveryTime+slack)
}

// testOutage checks an outage: the metric is an error, the replicas stay, and the HPA's conditions contain the reason.
// Everything works afterwards.
func testOutage(t *testing.T, l *loop.Loop, replicas int, begin, end func()) {
	t.Helper()
	begin()
	awaitError(t, l)
	requireReplicas(t, l, replicas, 5*time.Second)
	conditions, err := l.HPAConditions(t.Context())
	requireNoError(t, err)
	t.Logf("ScalingActive=%s", conditions["ScalingActive"])
	if !strings.HasPrefix(conditions["ScalingActive"], "False FailedGetObjectMetric") {
		t.Errorf("the HPA's conditions do not contain the reason")
	}
	end()
	ended := time.Now()
	err = process.Retry(t.Context(), loop.MaxRecoveryTime+slack, func(ctx context.Context) error {
		_, err := l.Metric(ctx, "slurm_nodeset_required_nodes", "")
		return err
	})
	if err != nil {
		t.Fatalf("the metric does not recover: %v\n%s", err, l.Logs())
	}
	t.Logf("the metric recovered after %v", time.Since(ended).Round(100*time.Millisecond))
	requireReplicas(t, l, replicas, 2*time.Second)
}

// awaitError waits until the adapter returns an error instead of a value.
func awaitError(t *testing.T, l *loop.Loop) {
	t.Helper()
	requireNoError(t, process.Retry(t.Context(), loop.MaxAge+slack, func(ctx context.Context) error {
		_, err := l.Metric(ctx, "slurm_nodeset_required_nodes", "")
		if err == nil {
			return errors.New("the adapter still returns values")
		}
		t.Logf("the adapter returned: %v", err)
		return nil
	}))
}

// newToken creates a token of user slurm with the given lifetime in seconds.
func newToken(t *testing.T, l *loop.Loop, seconds int) string {
	t.Helper()
	out := runSlurm(t, l, "scontrol", "token", "username=slurm", "lifespan="+strconv.Itoa(seconds))
	_, text, _ := strings.Cut(strings.TrimSpace(out), "=")
	return text
}

//go:build e2e

package plugin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

func TestPlugin(t *testing.T) {
	r := newEnv(t)
	r.runWorkers(t)
	r.submitJobs(t)
	r.applyFile(t, "hpa.yaml")
	process.Await(t, func() error { return r.checkReady(t, 3) })
	process.Await(t, func() error { return r.checkScaled(t, 3) })
	t.Run("tables and explanations", r.testTables)
	t.Run("watch", r.testWatch)
	t.Run("scale-in that waits for a busy worker", r.testScaleIn)
	t.Run("healthy installation", r.testHealthy)
	t.Run("unreachable API server", r.testUnreachable)
	t.Run("missing rights", r.testMissingRights)
	t.Run("faults of tokens", func(t *testing.T) { r.testFaults(t, r.tokenFaults()) })
	t.Run("faults of API servers", func(t *testing.T) { r.testFaults(t, r.servingFaults()) })
	t.Run("faults of custom resources", func(t *testing.T) { r.testFaults(t, r.objectFaults()) })
	t.Run("faults of HPAs", func(t *testing.T) { r.testFaults(t, r.autoscalerFaults()) })
}

// checkReady returns an error until the wanted number of workers is ready and allocated.
func (r *env) checkReady(t *testing.T, want int) error {
	t.Helper()
	out := strings.Fields(r.kubectl(t, "-n", hpc, "get", "nodesets", "gpu", "-o",
		"jsonpath={.spec.replicas} {.status.readyReplicas} {.status.slurmAllocated}"))
	if fmt.Sprint(out) != fmt.Sprintf("[%d %d %d]", want, want, want) {
		return fmt.Errorf("replicas, ready and allocated are %v, not %d", out, want)
	}
	return nil
}

// checkScaled returns an error until the HPA gpu wants a number of workers. Until the controller manager discovers the API group of
// NodeSets, which it does every 30 s, it scales none.
func (r *env) checkScaled(t *testing.T, want int) error {
	t.Helper()
	out := r.kubectl(t, "-n", hpc, "get", "hpa", "gpu", "-o",
		`jsonpath={.status.currentReplicas} {.status.desiredReplicas} {.status.conditions[?(@.type=="ScalingActive")].status}`)
	if out != fmt.Sprintf("%d %d True", want, want) {
		return fmt.Errorf("the HPA's current and desired replicas and ScalingActive are %q", out)
	}
	return nil
}

// testScaleIn lowers maxReplicas below the number of busy workers, so that one worker is drained.
func (r *env) testScaleIn(t *testing.T) {
	r.kubectl(t, "-n", hpc, "patch", "hpa", "gpu", "--type=merge", "-p", `{"spec":{"maxReplicas":2}}`)
	process.Await(t, func() error {
		out := r.kubectl(t, "-n", hpc, "get", "nodesets", "gpu", "-o",
			`jsonpath={.status.conditions[?(@.type=="Draining")].reason}`)
		if out != "WaitingForJobs" {
			return fmt.Errorf("Draining is %q", out)
		}
		return nil
	})
	r.compareGolden(t, "explain-draining", "kubectl slurm explain nodeset gpu -n hpc")
	r.kubectl(t, "-n", hpc, "patch", "hpa", "gpu", "--type=merge", "-p", `{"spec":{"maxReplicas":3}}`)
	process.Await(t, func() error { return r.checkReady(t, 3) })
}

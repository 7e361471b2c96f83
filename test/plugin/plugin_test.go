//go:build e2e

package plugin

import (
	"fmt"
	"strings"
	"testing"
)

func TestPlugin(t *testing.T) {
	r := newRig(t)
	r.runWorkers(t)
	r.submitAll(t)
	r.apply(t, "hpa.yaml")
	await(t, func() error { return r.ready(t, 3) })
	t.Run("tables and explanations", r.tables)
	t.Run("watch", r.watches)
	t.Run("scale-in that waits for a busy worker", r.scalesIn)
	t.Run("healthy installation", r.healthy)
	t.Run("unreachable API server", r.unreachable)
	t.Run("missing rights", r.rights)
	t.Run("faults of tokens", func(t *testing.T) { r.cures(t, r.tokens()) })
	t.Run("faults of API servers", func(t *testing.T) { r.cures(t, r.serving()) })
	t.Run("faults of custom resources", func(t *testing.T) { r.cures(t, r.objects()) })
	t.Run("faults of HPAs", func(t *testing.T) { r.cures(t, r.autoscalers()) })
}

// checkReady returns an error until the wanted number of workers is ready and allocated.
func (r *rig) ready(t *testing.T, want int) error {
	t.Helper()
	out := strings.Fields(r.kubectl(t, "-n", hpc, "get", "nodesets", "gpu", "-o", "jsonpath={.spec.replicas} {.status.readyReplicas} {.status.slurmAllocated}"))
	if fmt.Sprint(out) != fmt.Sprintf("[%d %d %d]", want, want, want) {
		return fmt.Errorf("replicas, ready and allocated are %v, not %d", out, want)
	}
	return nil
}

// testScaleIn lowers maxReplicas below the number of busy workers, so that one worker is drained.
func (r *rig) scalesIn(t *testing.T) {
	r.kubectl(t, "-n", hpc, "patch", "hpa", "gpu", "--type=merge", "-p", `{"spec":{"maxReplicas":2}}`)
	await(t, func() error {
		out := r.kubectl(t, "-n", hpc, "get", "nodesets", "gpu", "-o", `jsonpath={.status.conditions[?(@.type=="Draining")].reason}`)
		if out != "WaitingForJobs" {
			return fmt.Errorf("Draining is %q", out)
		}
		return nil
	})
	r.golden(t, "explain-draining", "kubectl slurm explain nodeset gpu -n hpc")
	r.kubectl(t, "-n", hpc, "patch", "hpa", "gpu", "--type=merge", "-p", `{"spec":{"maxReplicas":3}}`)
	await(t, func() error { return r.ready(t, 3) })
}

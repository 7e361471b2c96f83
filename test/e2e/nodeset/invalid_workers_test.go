//go:build e2e

package nodeset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testWorkersWithLess: Slurm refuses workers that have less than their records.
func testWorkersWithLess(t *testing.T, s *nodeset.Env) {
	runScript(t, s, "sed -i 's/^SlurmdParameters=config_overrides$/#&/' /etc/slurm/slurm.conf; scontrol reconfigure")
	t.Run("a GPU breaks", func(t *testing.T) { testBrokenGPU(t, s) })
	t.Run("a machine is too small", func(t *testing.T) { testSmallMachine(t, s) })
	runScript(t, s, "sed -i 's/^#SlurmdParameters/SlurmdParameters/' /etc/slurm/slurm.conf; scontrol reconfigure")
}

// testBrokenGPU: Slurm drains a registered worker that reports fewer GPUs than before.
func testBrokenGPU(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "broken", Replicas: 1,
		ExtraConf: "CPUs=2 RealMemory=500 Gres=gpu:h100:2"})
	runScript(t, s, "sed -i 's#,/dev/zero##' /etc/slurm/gres.conf; scontrol reconfigure")
	const reason = "gres/gpu count reported lower than configured (1 < 2)"
	c.awaitDrained("broken-0", reason)
	runScript(t, s, "sed -i 's#/dev/full#&,/dev/zero#' /etc/slurm/gres.conf; scontrol reconfigure")
	c.expectReplacementInService(reason)
	c.deleteAndWait()
}

// testSmallMachine: Slurm refuses a worker whose machine is smaller than its record, until the NodeSet requests less.
func testSmallMachine(t *testing.T, s *nodeset.Env) {
	c := nodeSetEnv{t, s, nodeset.NodeSet{Name: "small", Replicas: 1, ExtraConf: "CPUs=2 RealMemory=9000000"}, process.Patience}
	created := c.recordCreations()
	must(t, s.Apply(t.Context(), c.spec))
	c.await("small-0 is refused", func(ctx context.Context) (bool, string) {
		state, reason, err := s.SlurmNode(ctx, "small-0")
		return err == nil && strings.Contains(state, "INVALID_REG") && strings.HasPrefix(reason, "Low RealMemory"),
			fmt.Sprint(state, " ", reason, err)
	})
	c.spec.ExtraConf = "CPUs=2 RealMemory=500"
	must(t, s.Apply(t.Context(), c.spec))
	c.await("another worker is created", func(context.Context) (bool, string) { return len(created()) > 1, fmt.Sprint(created()) })
	worker := created()[1] // of the first ordinal, or the next one while small-0 ends
	c.awaitSlurmState(worker, "IDLE", "")
	c.finishJob(c.startJob(worker, 30))
	if all := created(); len(all) != 2 {
		t.Errorf("%v were created, want two", all)
	}
	c.deleteAndWait()
}

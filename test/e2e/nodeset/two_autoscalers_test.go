//go:build e2e

package nodeset_test

import (
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testTwoAutoscalers: a second HPA that allows fewer workers removes no records.
func testTwoAutoscalers(t *testing.T, s *nodeset.Env) {
	c := nodeSetEnv{t, s, nodeset.NodeSet{Name: "two", ExtraConf: "CPUs=2 RealMemory=500", Max: 3}, process.Patience}
	must(t, s.Apply(t.Context(), c.spec))
	awaitSubmittable(t, s, "two")
	must(t, s.Autoscaler(t.Context(), "two", "two-b", 1))
	c.expectSteady("there are three records", func() (bool, string) {
		out, err := s.Slurm(t.Context(), "scontrol", "show", "nodes", "--future", "--oneliner")
		must(t, err)
		return strings.Count(out, "NodeName=two-") == 3, out
	})
	c.kubectl("--namespace", s.Values.Namespace, "delete", "hpa", "two", "two-b")
	c.deleteAndWait()
}

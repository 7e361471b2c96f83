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

// testShapeChange: the FUTURE records follow the GRES of their NodeSet. A held job and the record that it names stay. A job that needs the
// new GRES runs.
func testShapeChange(t *testing.T, s *nodeset.Env) {
	c := nodeSetEnv{t, s, nodeset.NodeSet{Name: "shape", ExtraConf: "CPUs=2 RealMemory=500 Gres=gpu:a100:4"}, process.Patience}
	must(t, s.Apply(t.Context(), c.spec))
	awaitSubmittable(t, s, "shape")
	awaitRecords(t, s, "gpu:a100:4", 6)
	held := sbatch(t, s, "-J", "shape", "-H", "-p", "all", "-w", "shape-0", "--wrap", "true")

	c.spec.ExtraConf = "CPUs=2 RealMemory=500 Gres=gpu:h100:2"
	must(t, s.Apply(t.Context(), c.spec))
	awaitRecords(t, s, "gpu:h100:2", 5)
	await(t, s, "the condition names the job", process.Patience, func(ctx context.Context) (bool, string) {
		isLeft, text := conditionOf(ctx, s, "shape", "Draining", "True")
		return isLeft && strings.Contains(text, "shape-0") && strings.Contains(text, "job "+held), text
	})
	awaitRecords(t, s, "gpu:a100:4", 1)

	_, err := s.Slurm(t.Context(), "scontrol", "reconfigure") // takes the types of their GRES from FUTURE records
	must(t, err)
	awaitRecords(t, s, "gpu:h100:2", 5)
	if j, err := s.Job(t.Context(), held); err != nil || j.State != "PENDING" {
		t.Errorf("the held job is %+v, %v", j, err)
	}

	job := sbatch(t, s, "-J", "shape", "-p", "all", "-C", "shape", "--gres=gpu:h100:2", "--wrap", "true")
	must(t, s.Scale(t.Context(), "shape", 1))
	await(t, s, "the job of the new shape ends", process.Patience, func(ctx context.Context) (bool, string) {
		j, err := s.Job(ctx, job)
		return j.CompletedOnce(), fmt.Sprint(j, err)
	})
	_, err = s.Slurm(t.Context(), "scancel", held)
	must(t, err)
	must(t, s.Scale(t.Context(), "shape", 0))
	awaitRecords(t, s, "gpu:h100:2", 6)
	c.deleteAndWait()
}

// awaitRecords waits until as many FUTURE records of the NodeSet shape have the GRES.
func awaitRecords(t *testing.T, s *nodeset.Env, gres string, count int) {
	t.Helper()
	await(t, s, fmt.Sprintf("%d records have %s", count, gres), process.Patience, func(ctx context.Context) (bool, string) {
		out, err := s.Slurm(ctx, "scontrol", "show", "nodes", "--future", "--oneliner")
		found := 0
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "NodeName=shape-") && strings.Contains(line, "State=FUTURE") &&
				strings.Contains(line, " Gres="+gres+" ") {
				found++
			}
		}
		return err == nil && found == count, fmt.Sprint(out, err)
	})
}

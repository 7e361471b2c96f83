//go:build e2e

package nodeset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testOtherSlurmAnswers: the Cluster of workers, one with a job, is pointed at another Slurm that has nodes of the same
// names, drained and idle. Neither Slurm changes until it is pointed back. The NodeSet cannot be pointed at another
// Cluster.
func testOtherSlurmAnswers(t *testing.T, s *nodeset.Env) {
	other, err := s.StartSecondSlurm(t.Context(), "other", "away-[0-5] NodeAddr=127.0.0.[11-16]")
	must(t, err)
	_, err = other.Slurm(t.Context(), "scontrol", "update", "NodeName=away-[0-5]", "State=DRAIN",
		"Reason=slurm-operator: scale-in")
	must(t, err)
	must(t, s.ApplyCluster(t.Context(), "away", s))
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "away", Cluster: "away", Replicas: 2})
	job := c.startJob("away-0", 30)
	before := c.mustWorkers()
	must(t, s.ApplyCluster(t.Context(), "away", other))
	c.awaitMismatch("OtherSlurmCluster", "but the Slurm cluster other answers")
	must(t, s.Scale(t.Context(), "away", 0))
	c.expectBothUntouched(other, before)
	must(t, s.ApplyCluster(t.Context(), "away", s))
	c.awaitWorkers("away-0")
	c.awaitSlurmState("away-0", "MIXED+DRAIN", "slurm-operator: scale-in")

	must(t, s.ApplyCluster(t.Context(), "beyond", other))
	if out, err := s.Kube.Kubectl(t.Context(), "--namespace", s.Values.Namespace, "patch", "nodeset", "away",
		"--type=merge", `--patch={"spec": {"clusterRef": {"name": "beyond"}}}`); err == nil ||
		!strings.Contains(err.Error(), "clusterRef is immutable") {
		t.Errorf("a NodeSet changes its Cluster: %s, %v", out, err)
	}
	c.finishJob(job)
	c.awaitWorkers()
	c.deleteAndWait()
}

// expectBothUntouched expects the workers and the nodes of the other Slurm to stay unchanged.
func (c nodeSetEnv) expectBothUntouched(other *nodeset.Env, before map[string]nodeset.Worker) {
	c.t.Helper()
	c.expectSteady("all is as it was", func() (bool, string) {
		theirs, err := other.Slurm(c.t.Context(), "scontrol", "show", "node", "away-[0-5]", "--oneliner")
		must(c.t, err)
		diff := cmp.Diff(before, c.mustWorkers())
		written := strings.Count(theirs, "DRAIN") != 6 ||
			strings.Count(theirs, "Reason=slurm-operator: scale-in") != 6 || strings.Contains(theirs, "Comment=")
		return diff == "" && !written, diff + theirs
	})
}

// testSameName: a NodeSet of the same name in another namespace leaves the Slurm nodes of the
// first untouched, and creates its workers when the first is gone.
func testSameName(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "same", Replicas: 2})
	job := c.startJob("same-0", 30)
	_, err := s.Slurm(t.Context(), "scontrol", "update", "NodeName=same-1", "State=DRAIN", "Reason="+adminReason)
	must(t, err)
	c.awaitSlurmState("same-1", "IDLE+DRAIN", adminReason)
	before := c.mustWorkers()

	twin, err := s.CreateTwin(t.Context())
	must(t, err)
	second := nodeSetEnv{t, twin, nodeset.NodeSet{Name: "same", Cluster: "e2e", Replicas: 2,
		ExtraConf: c.spec.ExtraConf}, process.Patience}
	must(t, twin.Apply(t.Context(), second.spec))
	second.awaitMismatch("SlurmNodesTaken", s.Values.Namespace+"/same")
	c.expectSteady("all is as it was", func() (bool, string) {
		busy, _, err := s.SlurmNode(t.Context(), "same-0")
		must(t, err)
		idle, reason, err := s.SlurmNode(t.Context(), "same-1")
		must(t, err)
		diff := cmp.Diff(before, c.mustWorkers()) + cmp.Diff(map[string]nodeset.Worker{}, second.mustWorkers())
		return diff == "" && stableState(busy) == "MIXED" && stableState(idle) == "IDLE+DRAIN" && reason == adminReason,
			fmt.Sprint(diff, busy, idle, reason)
	})

	c.finishJob(job)
	_, err = s.Slurm(t.Context(), "scontrol", "update", "NodeName=same-1", "State=RESUME")
	must(t, err)
	c.delete()
	second.await("has workers", func(ctx context.Context) (bool, string) {
		out, err := s.Slurm(ctx, "scontrol", "show", "nodes", "--oneliner")
		idle := 0
		for line := range strings.Lines(out) {
			if strings.Contains(line, `"namespace":"`+twin.Values.Namespace+`"`) &&
				strings.Contains(line, "State=IDLE+DYNAMIC") {
				idle++
			}
		}
		return err == nil && idle == 2, fmt.Sprint(out, err)
	})
	second.delete()
	second.await("is gone", func(ctx context.Context) (bool, string) {
		out, err := s.Kube.Kubectl(ctx, "get", "nodesets", "--all-namespaces", "--field-selector=metadata.name=same",
			"--output=name")
		return err == nil && out == "", fmt.Sprint(out, err)
	})
}

// awaitMismatch waits until the NodeSet is not Ready for a reason, which an event reports too.
func (c nodeSetEnv) awaitMismatch(reason, words string) {
	c.t.Helper()
	c.await("clashes: "+reason, func(ctx context.Context) (bool, string) {
		ok, text := conditionOf(ctx, c.Env, c.spec.Name, "Ready", "False")
		return ok && strings.Contains(text, reason) && strings.Contains(text, words), text
	})
	c.awaitEvent(reason, words)
}

//go:build e2e

package nodeset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
)

// deleteBy deletes objects of the NodeSet's name, with a propagation
// policy for their dependents.
func (c nodeSetEnv) deleteBy(cascade, kinds string) {
	c.t.Helper()
	c.kubectl("--namespace", c.Values.Namespace, "delete", kinds, c.spec.Name, "--cascade="+cascade, "--wait=false")
}

// testForegroundDeletion: Kubernetes' garbage collector deletes the objects of a NodeSet at once, but its workers wait
// for their jobs.
func testForegroundDeletion(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "fore", Replicas: 2})
	job := c.startJob("fore-0", 30)
	before := c.mustWorkers()
	c.deleteBy("foreground", "nodeset")
	c.expectOutlivesDeletion(job, "fore-0", before)
	c.finishJob(job)
	c.awaitGone()
}

// expectOutlivesDeletion expects one worker with a job to keep running while its NodeSet is deleted.
func (c nodeSetEnv) expectOutlivesDeletion(job, pod string, before map[string]nodeset.Worker) {
	c.t.Helper()
	c.awaitWorkers(pod)
	c.awaitSlurmState(pod, "MIXED+DRAIN", "slurm-operator: deletion of the NodeSet")
	c.awaitCondition("Draining", pod, "Deletion", "job "+job)
	c.expectSteady("the busy worker", func() (bool, string) {
		diff := cmp.Diff(selectWorkers(before, pod), c.mustWorkers())
		return diff == "", diff
	})
	c.expectEvictionRefused(pod)
}

// testPrune does what Argo CD does when a NodeSet is removed from its repository and added again
// while it is still being deleted.
func testPrune(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "prune", Replicas: 1})
	job := c.startJob("prune-0", 30)
	before := c.mustWorkers()
	c.deleteBy("foreground", "nodeset")
	c.expectOutlivesDeletion(job, "prune-0", before)
	must(t, s.Apply(t.Context(), c.spec))
	c.expectSteady("the busy worker", func() (bool, string) {
		diff := cmp.Diff(before, c.mustWorkers())
		return diff == "", diff
	})
	c.finishJob(job)
	c.awaitGone()
	must(t, s.Apply(t.Context(), c.spec))
	c.awaitSlurmState("prune-0", "IDLE", "")
	c.deleteAndWait()
}

// testOrphaning: a NodeSet that is deleted with orphaned workers changes nothing. The next NodeSet with the name takes
// them over with their jobs.
func testOrphaning(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "left", Replicas: 2})
	job := c.startJob("left-0", 30)
	before := c.mustWorkers()
	c.deleteBy("orphan", "nodeset")
	c.await("is gone", func(ctx context.Context) (bool, string) {
		out, err := c.Kube.Kubectl(ctx, "--namespace", c.Values.Namespace, "get", "nodeset", "left",
			"--ignore-not-found")
		return err == nil && out == "", fmt.Sprint(out, err)
	})
	c.expectUntouched(before)
	must(t, s.Apply(t.Context(), c.spec))
	c.await("workers are adopted", func(ctx context.Context) (bool, string) {
		out, err := c.Kube.Kubectl(ctx, "--namespace", c.Values.Namespace, "get", "pods",
			"--selector=app.kubernetes.io/instance=left",
			"--output", "jsonpath={.items[*].metadata.ownerReferences[*].kind}")
		return err == nil && strings.Count(out, "NodeSet") == 2, fmt.Sprint(out, err)
	})
	c.expectUntouched(before)
	c.finishJob(job)
	must(t, c.Scale(t.Context(), "left", 1))
	c.awaitWorkers("left-0")
	c.deleteAndWait()
}

// expectUntouched expects both workers of "left" to stay unchanged, in Slurm too.
func (c nodeSetEnv) expectUntouched(before map[string]nodeset.Worker) {
	c.t.Helper()
	c.expectSteady("all is as it was", func() (bool, string) {
		busy, _, err := c.SlurmNode(c.t.Context(), "left-0")
		must(c.t, err)
		idle, _, err := c.SlurmNode(c.t.Context(), "left-1")
		must(c.t, err)
		diff := cmp.Diff(before, c.mustWorkers())
		return diff == "" && stableState(busy) == "MIXED" && stableState(idle) == "IDLE", fmt.Sprint(diff, busy, idle)
	})
}

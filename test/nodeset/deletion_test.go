//go:build e2e

package nodeset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/test/nodeset"
)

// deleteBy deletes objects of the NodeSet's name, with a propagation
// policy for their dependents.
func (c crew) deleteBy(cascade, kinds string) {
	c.t.Helper()
	c.kubectl("--namespace", c.Site.Namespace, "delete", kinds, c.spec.Name, "--cascade="+cascade, "--wait=false")
}

// testForegroundDeletion: Kubernetes' garbage collector deletes what a NodeSet owns at once; its
// workers wait for their jobs all the same.
func foreground(t *testing.T, s *nodeset.Scene) {
	c := hire(t, s, nodeset.NodeSet{Name: "fore", Replicas: 2})
	job := c.hold("fore-0", 30)
	before := c.mustWorkers()
	c.deleteBy("foreground", "nodeset")
	c.outlives(job, "fore-0", before)
	c.release(job)
	c.awaitGone()
}

// expectOutlivesDeletion expects one worker with a job to keep running while its NodeSet is deleted.
func (c crew) outlives(job, pod string, before map[string]nodeset.Worker) {
	c.t.Helper()
	c.awaitWorkers(pod)
	c.awaitState(pod, "MIXED+DRAIN", "slurm-operator: deletion of the NodeSet")
	c.tells("Draining", pod, "Deletion", "job "+job)
	c.stays("the busy worker", func() (bool, string) {
		diff := cmp.Diff(pick(before, pod), c.mustWorkers())
		return diff == "", diff
	})
	c.refused(pod)
}

// testPrune does what Argo CD does when a NodeSet is removed from its repository and added again
// while it is still being deleted.
func prune(t *testing.T, s *nodeset.Scene) {
	c := hire(t, s, nodeset.NodeSet{Name: "prune", Replicas: 1})
	job := c.hold("prune-0", 30)
	before := c.mustWorkers()
	c.deleteBy("foreground", "nodeset")
	c.outlives(job, "prune-0", before)
	must(t, s.Apply(t.Context(), c.spec))
	c.stays("the busy worker", func() (bool, string) {
		diff := cmp.Diff(before, c.mustWorkers())
		return diff == "", diff
	})
	c.release(job)
	c.awaitGone()
	must(t, s.Apply(t.Context(), c.spec))
	c.awaitState("prune-0", "IDLE", "")
	c.dismiss()
}

// testOrphaning: a NodeSet that leaves its workers behind touches nothing, and the next one of
// the name takes them over with their jobs.
func orphaned(t *testing.T, s *nodeset.Scene) {
	c := hire(t, s, nodeset.NodeSet{Name: "left", Replicas: 2})
	job := c.hold("left-0", 30)
	before := c.mustWorkers()
	c.deleteBy("orphan", "nodeset")
	c.await("is gone", func(ctx context.Context) (bool, string) {
		out, err := c.Kube.Kubectl(ctx, "--namespace", c.Site.Namespace, "get", "nodeset", "left", "--ignore-not-found")
		return err == nil && out == "", fmt.Sprint(out, err)
	})
	c.untouched(before)
	must(t, s.Apply(t.Context(), c.spec))
	c.await("workers are adopted", func(ctx context.Context) (bool, string) {
		out, err := c.Kube.Kubectl(ctx, "--namespace", c.Site.Namespace, "get", "pods", "--selector=app.kubernetes.io/instance=left",
			"--output", "jsonpath={.items[*].metadata.ownerReferences[*].kind}")
		return err == nil && strings.Count(out, "NodeSet") == 2, fmt.Sprint(out, err)
	})
	c.untouched(before)
	c.release(job)
	must(t, c.Scale(t.Context(), "left", 1))
	c.awaitWorkers("left-0")
	c.dismiss()
}

// expectUntouched expects both workers of "left" to stay as they were, in Slurm too.
func (c crew) untouched(before map[string]nodeset.Worker) {
	c.t.Helper()
	c.stays("all is as it was", func() (bool, string) {
		busy, _, err := c.SlurmNode(c.t.Context(), "left-0")
		must(c.t, err)
		idle, _, err := c.SlurmNode(c.t.Context(), "left-1")
		must(c.t, err)
		diff := cmp.Diff(before, c.mustWorkers())
		return diff == "" && lasting(busy) == "MIXED" && lasting(idle) == "IDLE", fmt.Sprint(diff, busy, idle)
	})
}

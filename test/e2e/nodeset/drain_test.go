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

// testScaleIn scales in four workers, two of which have jobs. The idle ones are deleted first, then one worker after
// its job has ended. More replicas in between undo the choice.
func testScaleIn(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "in", Replicas: 4})
	long := c.startJob("in-1", 60)
	short := c.startJob("in-2", 10)
	before := c.mustWorkers()
	must(t, c.Scale(t.Context(), "in", 1))
	c.awaitWorkers("in-1", "in-2")
	c.awaitSlurmState("in-2", "MIXED+DRAIN", "slurm-operator: scale-in")
	c.awaitSlurmState("in-1", "MIXED", "")
	c.awaitCondition("Draining", "in-2", "ScaleIn", "job "+short, "until 20")
	c.awaitEvent("DrainWaiting", "job "+short)
	c.expectEvictionRefused("in-1", "in-2")

	must(t, c.Scale(t.Context(), "in", 2))
	c.awaitSlurmState("in-2", "MIXED", "")
	c.expectSteady("workers are the same", func() (bool, string) {
		diff := cmp.Diff(selectWorkers(before, "in-1", "in-2"), c.mustWorkers())
		return diff == "", diff
	})

	must(t, c.Scale(t.Context(), "in", 1))
	c.awaitSlurmState("in-2", "MIXED+DRAIN", "slurm-operator: scale-in")
	c.expectSteady("both are there", func() (bool, string) { w := c.mustWorkers(); return len(w) == 2, fmt.Sprint(w) })
	c.finishJob(short)
	c.awaitWorkers("in-1")
	c.awaitSlurmState("in-2", "FUTURE", "")
	c.awaitSlurmState("in-1", "MIXED", "")
	c.finishJob(long)
	c.deleteAndWait()
}

func selectWorkers(workers map[string]nodeset.Worker, names ...string) map[string]nodeset.Worker {
	out := map[string]nodeset.Worker{}
	for _, name := range names {
		out[name] = workers[name]
	}
	return out
}

// testUpdate expects idle workers to be replaced first, one at a time, and a busy one after its job.
func testUpdate(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "up", Replicas: 3})
	job := c.startJob("up-1", 30)
	before := c.mustWorkers()
	c.spec.Round = 2
	must(t, s.Apply(t.Context(), c.spec))
	c.await("idle workers have changed", func(context.Context) (bool, string) {
		w := c.mustWorkers()
		return w["up-0"].Round == "2" && w["up-2"].Round == "2", fmt.Sprint(w)
	})
	c.awaitSlurmState("up-1", "MIXED+DRAIN", "slurm-operator: update")
	c.awaitCondition("Draining", "up-1", "Update", "job "+job)
	c.expectEvictionRefused("up-1")
	c.expectSteady("the busy worker is the same", func() (bool, string) {
		diff := cmp.Diff(before["up-1"], c.mustWorkers()["up-1"])
		return diff == "", diff
	})
	c.finishJob(job)
	c.await("the busy worker has changed", func(context.Context) (bool, string) {
		w := c.mustWorkers()
		return w["up-1"].Round == "2" && !w["up-1"].Deleting, fmt.Sprint(w)
	})
	c.awaitCondition("Updated", "every worker")
	c.awaitSlurmState("up-1", "IDLE", "")
	c.deleteAndWait()
}

// testDeletion expects a deleted NodeSet to stay until its last job has ended, and to leave no objects behind.
func testDeletion(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "gone", Replicas: 2})
	job := c.startJob("gone-0", 30)
	c.delete()
	c.awaitWorkers("gone-0")
	c.awaitSlurmState("gone-0", "MIXED+DRAIN", "slurm-operator: deletion of the NodeSet")
	c.awaitCondition("Draining", "gone-0", "Deletion", "job "+job)
	c.expectEvictionRefused("gone-0")
	c.finishJob(job)
	c.awaitGone()
}

func (c nodeSetEnv) delete() {
	c.t.Helper()
	_, err := c.Kube.Kubectl(c.t.Context(), "--namespace", c.Values.Namespace, "delete", "nodeset", c.spec.Name,
		"--wait=false")
	must(c.t, err)
}

// awaitDeleted waits until Kubernetes has no object of a NodeSet.
func (c nodeSetEnv) awaitDeleted() {
	c.t.Helper()
	c.await("is gone", func(ctx context.Context) (bool, string) {
		out, err := c.Kube.Kubectl(ctx, "--namespace", c.Values.Namespace, "get", "nodeset", c.spec.Name,
			"--ignore-not-found")
		return err == nil && out == "", fmt.Sprint(out, err)
	})
	if w := c.mustWorkers(); len(w) > 0 {
		c.t.Errorf("workers of a NodeSet that is gone: %v", w)
	}
}

// awaitGone waits until neither Kubernetes nor Slurm has an object of a NodeSet.
func (c nodeSetEnv) awaitGone() {
	c.t.Helper()
	c.awaitDeleted()
	out, err := c.Slurm(c.t.Context(), "scontrol", "show", "nodes", "--future", "--oneliner")
	must(c.t, err)
	if strings.Contains(out, "NodeName="+c.spec.Name+"-") {
		c.t.Errorf("records of a NodeSet that is gone:\n%s", out)
	}
}

// deleteAndWait deletes the NodeSet.
func (c nodeSetEnv) deleteAndWait() {
	c.t.Helper()
	c.delete()
	c.awaitGone()
}

// awaitEvent waits for an event about the NodeSet.
func (c nodeSetEnv) awaitEvent(reason, words string) {
	c.t.Helper()
	c.await("event "+reason, func(ctx context.Context) (bool, string) {
		out, err := c.Kube.Kubectl(ctx, "--namespace", c.Values.Namespace, "get", "events", "--field-selector",
			"involvedObject.kind=NodeSet,involvedObject.name="+c.spec.Name+",reason="+reason, "--output",
			"jsonpath={.items[*].message}")
		return err == nil && strings.Contains(out, words), fmt.Sprint(out, err)
	})
}

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

// testScaleIn scales in four workers, two of which have jobs. The idle ones are deleted first, then
// one that waits for its job. More replicas in between undo the choice.
func scaleIn(t *testing.T, s *nodeset.Scene) {
	c := hire(t, s, nodeset.NodeSet{Name: "in", Replicas: 4})
	long := c.hold("in-1", 60)
	short := c.hold("in-2", 10)
	before := c.mustWorkers()
	must(t, c.Scale(t.Context(), "in", 1))
	c.awaitWorkers("in-1", "in-2")
	c.awaitState("in-2", "MIXED+DRAIN", "slurm-operator: scale-in")
	c.awaitState("in-1", "MIXED", "")
	c.tells("Draining", "in-2", "ScaleIn", "job "+short, "until 20")
	c.event("DrainWaiting", "job "+short)
	c.refused("in-1", "in-2")

	must(t, c.Scale(t.Context(), "in", 2))
	c.awaitState("in-2", "MIXED", "")
	c.stays("workers are the same", func() (bool, string) {
		diff := cmp.Diff(pick(before, "in-1", "in-2"), c.mustWorkers())
		return diff == "", diff
	})

	must(t, c.Scale(t.Context(), "in", 1))
	c.awaitState("in-2", "MIXED+DRAIN", "slurm-operator: scale-in")
	c.stays("both are there", func() (bool, string) { w := c.mustWorkers(); return len(w) == 2, fmt.Sprint(w) })
	c.release(short)
	c.awaitWorkers("in-1")
	c.awaitState("in-2", "FUTURE", "")
	c.awaitState("in-1", "MIXED", "")
	c.release(long)
	c.dismiss()
}

func pick(workers map[string]nodeset.Worker, names ...string) map[string]nodeset.Worker {
	out := map[string]nodeset.Worker{}
	for _, name := range names {
		out[name] = workers[name]
	}
	return out
}

// testUpdate expects idle workers to be replaced first, one at a time, and a busy one after its job.
func update(t *testing.T, s *nodeset.Scene) {
	c := hire(t, s, nodeset.NodeSet{Name: "up", Replicas: 3})
	job := c.hold("up-1", 30)
	before := c.mustWorkers()
	c.spec.Round = 2
	must(t, s.Apply(t.Context(), c.spec))
	c.await("idle workers have changed", func(context.Context) (bool, string) {
		w := c.mustWorkers()
		return w["up-0"].Round == "2" && w["up-2"].Round == "2", fmt.Sprint(w)
	})
	c.awaitState("up-1", "MIXED+DRAIN", "slurm-operator: update")
	c.tells("Draining", "up-1", "Update", "job "+job)
	c.refused("up-1")
	c.stays("the busy worker is the same", func() (bool, string) {
		diff := cmp.Diff(before["up-1"], c.mustWorkers()["up-1"])
		return diff == "", diff
	})
	c.release(job)
	c.await("the busy worker has changed", func(context.Context) (bool, string) {
		w := c.mustWorkers()
		return w["up-1"].Round == "2" && !w["up-1"].Going, fmt.Sprint(w)
	})
	c.tells("Updated", "every worker")
	c.awaitState("up-1", "IDLE", "")
	c.dismiss()
}

// testDeletion expects a deleted NodeSet to stay until its last job has ended, and to leave nothing
// behind.
func deletion(t *testing.T, s *nodeset.Scene) {
	c := hire(t, s, nodeset.NodeSet{Name: "gone", Replicas: 2})
	job := c.hold("gone-0", 30)
	c.delete()
	c.awaitWorkers("gone-0")
	c.awaitState("gone-0", "MIXED+DRAIN", "slurm-operator: deletion of the NodeSet")
	c.tells("Draining", "gone-0", "Deletion", "job "+job)
	c.refused("gone-0")
	c.release(job)
	c.awaitGone()
}

func (c crew) delete() {
	c.t.Helper()
	_, err := c.Kube.Kubectl(c.t.Context(), "--namespace", c.Site.Namespace, "delete", "nodeset", c.spec.Name, "--wait=false")
	must(c.t, err)
}

// awaitGone waits until nothing is left of a NodeSet, in Kubernetes or in Slurm.
func (c crew) awaitGone() {
	c.t.Helper()
	c.await("is gone", func(ctx context.Context) (bool, string) {
		out, err := c.Kube.Kubectl(ctx, "--namespace", c.Site.Namespace, "get", "nodeset", c.spec.Name, "--ignore-not-found")
		return err == nil && out == "", fmt.Sprint(out, err)
	})
	if w := c.mustWorkers(); len(w) > 0 {
		c.t.Errorf("workers of a NodeSet that is gone: %v", w)
	}
	out, err := c.Slurm(c.t.Context(), "scontrol", "show", "nodes", "--future", "--oneliner")
	must(c.t, err)
	if strings.Contains(out, "NodeName="+c.spec.Name+"-") {
		c.t.Errorf("records of a NodeSet that is gone:\n%s", out)
	}
}

// deleteAndWait deletes the NodeSet.
func (c crew) dismiss() {
	c.t.Helper()
	c.delete()
	c.awaitGone()
}

// awaitEvent waits for an event about the NodeSet.
func (c crew) event(reason, words string) {
	c.t.Helper()
	c.await("event "+reason, func(ctx context.Context) (bool, string) {
		out, err := c.Kube.Kubectl(ctx, "--namespace", c.Site.Namespace, "get", "events", "--field-selector",
			"involvedObject.kind=NodeSet,involvedObject.name="+c.spec.Name+",reason="+reason, "--output", "jsonpath={.items[*].message}")
		return err == nil && strings.Contains(out, words), fmt.Sprint(out, err)
	})
}

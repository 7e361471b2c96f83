//go:build e2e

package nodeset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testKubeNodeLost: Kubernetes deletes the pod of a worker although slurmd and its job run, because their machine is
// unreachable. The only Kubernetes node takes this Slurm down with it, so this must be the last test.
func testKubeNodeLost(t *testing.T, s *nodeset.Env) {
	o, err := s.RunOperatorLocally(t.Context())
	must(t, err)
	t.Cleanup(func() {
		must(t, o.Close())
		if t.Failed() {
			t.Log(o.Log())
		}
	})
	must(t, o.Start())
	t.Run("out-of-service taint", func(t *testing.T) { testOutOfServiceTaint(t, s) })
	t.Run("the Node object is deleted", func(t *testing.T) { testDeletedKubeNode(t, s) })
}

// testOutOfServiceTaint: an administrator declares a running Kubernetes node to be off.
func testOutOfServiceTaint(t *testing.T, s *nodeset.Env) {
	const taint = "node.kubernetes.io/out-of-service"
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "unplugged", Cluster: "gate", Replicas: 1})
	c.expectJobOutlivesPod(func() { c.kubectl("taint", "nodes", "node", taint+"=nodeshutdown:NoExecute") })
	c.kubectl("taint", "nodes", "node", taint+"-")
	c.awaitSlurmState("unplugged-1", "IDLE", "")
	c.deleteAndWait()
}

// testDeletedKubeNode: the object of a Kubernetes node is deleted while the machine runs.
func testDeletedKubeNode(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "erased", Cluster: "gate", Replicas: 1})
	c.expectJobOutlivesPod(func() { c.kubectl("delete", "node", "node") })
}

// expectJobOutlivesPod loses the Kubernetes node of the one worker while it has a job. No second worker gets the name,
// and the job ends well at its first start. Then the kubelet is back.
func (c nodeSetEnv) expectJobOutlivesPod(lose func()) {
	c.t.Helper()
	name := c.worker(0)
	job := c.startJob(name, 30)
	before := c.mustWorkers()[name]
	away, err := c.WithoutKubelet(c.t.Context())
	must(c.t, err)
	defer func() { must(c.t, c.ResumeKubelet(context.Background())) }()
	begin := time.Now()
	lose()
	c.await("its pod is gone", func(context.Context) (bool, string) {
		have := c.mustWorkers()
		return have[name].UID != before.UID, fmt.Sprint(have)
	})
	c.t.Logf("the pod is gone after %.1f s", time.Since(begin).Seconds())
	c.await("another one takes its place", func(context.Context) (bool, string) {
		have := c.mustWorkers()
		return len(have) == 1 && have[c.worker(1)].UID != "", fmt.Sprint(have)
	})
	c.await("Ready names the Slurm node", func(ctx context.Context) (bool, string) {
		ok, text := conditionOf(ctx, c.Env, c.spec.Name, "Ready", "False")
		return ok && strings.Contains(text, name+" have no pod"), text
	})
	c.expectSteady("the job runs, and nobody else has the name", func() (bool, string) {
		have, err := away.Job(c.t.Context(), job)
		workers := c.mustWorkers()
		return err == nil && have.State == "RUNNING" && have.Restarts == "0" && workers[name].UID == "",
			fmt.Sprint(have, workers, err)
	})
	must(c.t, away.FinishJob(c.t.Context(), job))
	_, err = away.Await(c.t.Context(), "job "+job+" has ended well", process.Patience, func(ctx context.Context) (bool, string) {
		have, err := away.Job(ctx, job)
		return have.CompletedOnce(), fmt.Sprint(have, err)
	})
	must(c.t, err)
}

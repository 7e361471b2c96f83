//go:build e2e

package nodeset_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
)

// testNoSlurmdResponds: no slurmd responds during an update. No more workers than the
// disruption budget are out of service by the operator's choice, and the operator releases workers chosen above it.
func testNoSlurmdResponds(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "mute", Replicas: 4,
		Spec: "  updateStrategy: {rollingUpdate: {maxUnavailable: 1}}"})
	c.timeout *= 4 // four workers change one after the other
	c.checkTolerations("mute-0")
	stopped := c.mustWorkers()
	for _, w := range stopped {
		must(t, w.SignalSlurmd(syscall.SIGSTOP))
		t.Cleanup(func() { _ = w.SignalSlurmd(syscall.SIGCONT) }) // it may be gone
	}
	c.await("no slurmd responds", func(ctx context.Context) (bool, string) {
		out, err := c.Slurm(ctx, "sinfo", "--noheader", "--nodes=mute-[0-3]", "--Node", "--partition=all",
			"--format=%N %t")
		return err == nil && strings.Count(out, "*")+strings.Count(out, "down") >= 4, fmt.Sprint(out, err)
	})
	c.spec.Round = 2
	must(t, s.Apply(t.Context(), c.spec))
	c.await("one is chosen", func(context.Context) (bool, string) { return len(c.chosenAtMost(1)) == 1, "" })
	for pod := range stopped { // as if an earlier process had chosen more
		_, _ = s.Kube.Kubectl(t.Context(), "--namespace", s.Values.Namespace, "annotate", "pod", pod,
			"nodeset.slinky.slurm.net/drain-cause=Update", "nodeset.slinky.slurm.net/drain-started="+
				time.Now().UTC().Format(time.RFC3339))
	}
	c.await("no more than one is chosen", func(context.Context) (bool, string) {
		chosen := c.listChosen()
		return len(chosen) <= 1, fmt.Sprint(chosen)
	})
	for _, w := range stopped {
		_ = w.SignalSlurmd(syscall.SIGCONT) // one has been replaced
	}
	c.await("all have changed, one at a time", func(context.Context) (bool, string) {
		c.chosenAtMost(1)
		changed := 0
		for _, w := range c.mustWorkers() {
			if w.Round == "2" && !w.Deleting {
				changed++
			}
		}
		return changed == 4, fmt.Sprint(c.mustWorkers())
	})
	c.deleteAndWait()
}

// listChosen returns the workers that were chosen for an update and not deleted yet.
func (c nodeSetEnv) listChosen() []string {
	c.t.Helper()
	out, err := c.Kube.Kubectl(c.t.Context(), "--namespace", c.Values.Namespace, "get", "pods",
		"--selector=app.kubernetes.io/instance="+c.spec.Name, "--output",
		`jsonpath={range .items[*]}{.metadata.name} {.metadata.deletionTimestamp} {.metadata.annotations.nodeset\.slinky\.slurm\.net/drain-cause}{"\n"}{end}`)
	must(c.t, err)
	var chosen []string
	for line := range strings.Lines(out) {
		if words := strings.Fields(line); len(words) == 2 && words[1] == "Update" {
			chosen = append(chosen, words[0])
		}
	}
	return chosen
}

// chosenAtMost returns the chosen workers, and fails if there are more than limit.
func (c nodeSetEnv) chosenAtMost(limit int) []string {
	c.t.Helper()
	chosen := c.listChosen()
	if len(chosen) > limit {
		c.t.Fatalf("%v are chosen at a time", chosen)
	}
	return chosen
}

// checkTolerations: Kubernetes does not evict a worker whose kubelet is silent, not even after
// five minutes.
func (c nodeSetEnv) checkTolerations(pod string) {
	c.t.Helper()
	out, err := c.Kube.Kubectl(c.t.Context(), "--namespace", c.Values.Namespace, "get", "pod", pod, "--output",
		`jsonpath={range .spec.tolerations[?(@.effect=="NoExecute")]}{.key} {.tolerationSeconds}{"\n"}{end}`)
	must(c.t, err)
	for _, taint := range []string{"node.kubernetes.io/not-ready \n", "node.kubernetes.io/unreachable \n"} {
		if !strings.Contains(out, taint) {
			c.t.Errorf("the tolerations of %s are\n%s", pod, out)
		}
	}
}

// testReadingLacksNode: readings of Slurm lack the node of a worker that has a job. The worker stays, and stays
// protected, while another one is removed.
func testReadingLacksNode(t *testing.T, s *nodeset.Env) {
	gate, err := s.ApplyClusterBehindProxy(t.Context(), "dim")
	must(t, err)
	defer gate.Close()
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "dim", Cluster: "dim", Replicas: 2})
	job := c.startJob("dim-0", 30)
	busy := c.mustWorkers()["dim-0"]
	gate.HideNode("dim-0")
	must(t, s.Scale(t.Context(), "dim", 0))
	c.awaitWorkers("dim-0")
	c.expectSteady("its worker is as it was", func() (bool, string) {
		have := c.mustWorkers()["dim-0"]
		have.Deadline = busy.Deadline // it is known from readings that have the node
		state, _, err := s.SlurmNode(t.Context(), "dim-0")
		must(t, err)
		return have == busy && strings.HasPrefix(state, "MIXED"), fmt.Sprint(have, state)
	})
	c.expectEvictionRefused("dim-0")
	gate.HideNode("")
	c.awaitSlurmState("dim-0", "MIXED+DRAIN", "slurm-operator: scale-in")
	c.finishJob(job)
	c.awaitWorkers()
	c.deleteAndWait()
}

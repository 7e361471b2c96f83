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

// testStaticNode: a node of slurm.conf with a job has the name of a worker. The NodeSet uses the next name, its Ready names the node, and
// the node stays unchanged while workers come and go.
func testStaticNode(t *testing.T, s *nodeset.Env) {
	const line = "NodeName=fixed-1 CPUs=2 RealMemory=500 NodeAddr=127.0.0.1 Port=6819"
	run := func(script string) {
		t.Helper()
		if out, err := s.Slurm(t.Context(), "sh", "-ec", script); err != nil {
			t.Fatal(out, err)
		}
	}
	run("echo '" + line + "' >>/etc/slurm/slurm.conf; scontrol reconfigure; sleep 2; slurmd -N fixed-1")
	c := nodeSetEnv{t, s, nodeset.NodeSet{Name: "fixed", Replicas: 2, ExtraConf: "CPUs=2 RealMemory=500"}, process.Patience}
	c.awaitSlurmState("fixed-1", "IDLE", "")
	job, err := s.SubmitJob(t.Context(), "fixed-1", 30)
	must(t, err)
	c.await("job "+job+" runs on fixed-1", func(ctx context.Context) (bool, string) {
		have, err := s.Job(ctx, job)
		return have.State == "RUNNING", fmt.Sprint(have, err)
	})
	must(t, s.Apply(t.Context(), c.spec))
	c.awaitWorkers("fixed-0", "fixed-2")
	c.await("Ready names the node", func(ctx context.Context) (bool, string) {
		ok, text := conditionOf(ctx, s, "fixed", "Ready", "False")
		return ok && strings.Contains(text, "fixed-1"), text
	})
	untouched := func() (bool, string) {
		out, err := s.Slurm(t.Context(), "scontrol", "show", "node", "fixed-1", "--oneliner")
		return err == nil && strings.Contains(out, "State=MIXED ") && !strings.Contains(out, "Comment=") &&
			!strings.Contains(out, "Reason="), fmt.Sprint(out, err)
	}
	c.expectSteady("the node", untouched)
	must(t, s.Scale(t.Context(), "fixed", 0))
	c.awaitWorkers()
	c.expectSteady("the node", untouched)
	c.delete()
	c.awaitDeleted()
	c.expectSteady("the node", untouched)
	c.finishJob(job)
	run("kill $(pidof slurmd); grep -v fixed-1 /etc/slurm/slurm.conf >/tmp/slurm.conf; cp /tmp/slurm.conf /etc/slurm/; scontrol reconfigure")
	c.awaitGone()
}

// testForeignComment: a dynamic node has the name of a worker, but its comment names another owner. It stays unchanged while workers come
// and go.
func testForeignComment(t *testing.T, s *nodeset.Env) {
	const node = "foreign-0"
	_, err := s.Slurm(t.Context(), "scontrol", "create", "nodename="+node, "state=FUTURE", "CPUs=2", "RealMemory=500", "feature=theirs")
	must(t, err)
	_, err = s.Slurm(t.Context(), "scontrol", "update", "nodename="+node, "comment=rack 7, ask Kim")
	must(t, err)
	c := nodeSetEnv{t, s, nodeset.NodeSet{Name: "foreign", Replicas: 2, ExtraConf: "CPUs=2 RealMemory=500"}, process.Patience}
	untouched := func() (bool, string) {
		out, err := s.Slurm(t.Context(), "scontrol", "show", "node", node, "--future", "--oneliner")
		return err == nil && strings.Contains(out, "State=FUTURE") && strings.Contains(out, "Comment=rack 7, ask Kim") &&
			strings.Contains(out, "AvailableFeatures=theirs") && !strings.Contains(out, "Reason="), fmt.Sprint(out, err)
	}
	c.expectSteady("the node", untouched) // the operator has read it
	must(t, s.Apply(t.Context(), c.spec))
	c.awaitWorkers("foreign-1", "foreign-2")
	c.await("Ready names the node", func(ctx context.Context) (bool, string) {
		ok, text := conditionOf(ctx, s, "foreign", "Ready", "False")
		return ok && strings.Contains(text, node), text
	})
	c.expectSteady("the node", untouched)
	must(t, s.Scale(t.Context(), "foreign", 0))
	c.awaitWorkers()
	c.delete()
	c.awaitDeleted()
	c.expectSteady("the node", untouched)
	_, err = s.Slurm(t.Context(), "scontrol", "delete", "nodename="+node)
	must(t, err)
}

// testTwinKubeNodes: the names of two Kubernetes nodes differ only in their domains, so both would have the same Slurm node. The first
// keeps it with its job, and the second one gets no worker.
func testTwinKubeNodes(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "twins", Spec: "  scalingMode: DaemonSet"})
	c.awaitSlurmState("node", "IDLE", "")
	job := c.startJob("node", 30)
	before := c.mustWorkers()
	const twin = "node.rack-b"
	must(t, s.Kube.Apply(t.Context(), "apiVersion: v1\nkind: Node\nmetadata: {name: "+twin+"}\n"))
	t.Cleanup(func() {
		_, _ = s.Kube.Kubectl(context.WithoutCancel(t.Context()), "delete", "node", twin, "--ignore-not-found")
	})
	c.await("Ready names both", func(ctx context.Context) (bool, string) {
		ok, text := conditionOf(ctx, s, "twins", "Ready", "False")
		return ok && strings.Contains(text, "Kubernetes nodes node and "+twin), text
	})
	c.expectSteady("no worker comes or goes", func() (bool, string) {
		have := c.mustWorkers()
		return fmt.Sprint(have) == fmt.Sprint(before), fmt.Sprint(have)
	})
	c.finishJob(job)
	c.kubectl("delete", "node", twin)
	c.await("Ready", func(ctx context.Context) (bool, string) { return conditionOf(ctx, s, "twins", "Ready", "True") })
	c.deleteAndWait()
}

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

// testHeldByAdmin: a Slurm node that an administrator sets DOWN or FAIL keeps its state and reason
// through scale-in, without a pod, and when its worker is created again. Idle workers are protected
// from their creation on.
func testHeldByAdmin(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "held", Replicas: 3})
	c.expectEvictionRefused("held-0", "held-1", "held-2")
	c.setNodeState("held-2", "FAIL", "disk is failing", "Fail")
	// If ReturnToService is 2, Slurm itself undoes DOWN when slurmd registers again. slurmd must not do so until the operator has closed the
	// node.
	silenced := c.mustWorkers()["held-1"]
	must(t, silenced.SignalSlurmd(syscall.SIGSTOP))
	c.setNodeState("held-1", "DOWN", "bad fan", "Down")
	c.keepNodeDown("held-1", "bad fan")
	must(t, c.Scale(t.Context(), "held", 1))
	c.await("held-1 is closed", func(ctx context.Context) (bool, string) {
		state, reason, err := c.SlurmNode(ctx, "held-1")
		if err == nil && reason != "bad fan" {
			t.Fatalf("held-1 is %s with the reason %q: Slurm or the operator has lost who set it DOWN", state, reason)
		}
		return err == nil && strings.Contains(state, "DRAIN"), fmt.Sprint(state, " ", reason, err)
	})
	_ = silenced.SignalSlurmd(syscall.SIGCONT) // it may be gone
	c.awaitWorkers("held-0")
	c.expectNodeHeld("held-1", "bad fan")
	c.expectNodeHeld("held-2", "disk is failing")

	must(t, c.Scale(t.Context(), "held", 6))
	c.awaitWorkers("held-0", "held-1", "held-2", "held-3", "held-4", "held-5")
	for _, pod := range []string{"held-1", "held-2"} {
		c.kubectl("--namespace", s.Values.Namespace, "wait", "pod/"+pod, "--for=condition=Ready", "--timeout=120s")
		c.await(pod+" has registered", func(ctx context.Context) (bool, string) {
			out, err := s.Slurm(ctx, "scontrol", "show", "node", pod, "--oneliner")
			return err == nil && strings.Contains(out, "SlurmdStartTime=20"), fmt.Sprint(out, err)
		})
	}
	c.expectNodeHeld("held-1", "bad fan")
	c.expectNodeHeld("held-2", "disk is failing")
	for _, node := range []string{"held-1", "held-2"} {
		_, err := s.Slurm(t.Context(), "scontrol", "update", "NodeName="+node, "State=RESUME")
		must(t, err)
		c.await(node+" is in service", func(ctx context.Context) (bool, string) {
			state, reason, err := c.SlurmNode(ctx, node) // 24.11 leaves the reason
			return err == nil && stableState(state) == "IDLE", fmt.Sprint(state, " ", reason, err)
		})
	}
	c.deleteAndWait()
}

// setNodeState sets a Slurm node's state with a reason, and waits until its pod shows it.
func (c nodeSetEnv) setNodeState(slurmNode, state, reason, condition string) {
	c.t.Helper()
	_, err := c.Slurm(c.t.Context(), "scontrol", "update", "NodeName="+slurmNode, "State="+state, "Reason="+reason)
	must(c.t, err)
	c.kubectl("--namespace", c.Values.Namespace, "wait", "pod/"+slurmNode, "--for=condition=SlurmNodeState"+condition,
		"--timeout=60s")
}

// keepNodeDown sets a Slurm node DOWN repeatedly until it stays DOWN for five seconds. A registration that slurmd sent before it was
// stopped may arrive late, and ends DOWN.
func (c nodeSetEnv) keepNodeDown(slurmNode, reason string) {
	c.t.Helper()
	since := time.Now()
	c.await(slurmNode+" stays DOWN", func(ctx context.Context) (bool, string) {
		state, _, err := c.SlurmNode(ctx, slurmNode)
		if err == nil && !strings.Contains(state, "DOWN") {
			since = time.Now()
			_, err = c.Slurm(ctx, "scontrol", "update", "NodeName="+slurmNode, "State=DOWN", "Reason="+reason)
		}
		return err == nil && time.Since(since) > 5*time.Second, fmt.Sprint(state, err)
	})
}

// expectNodeHeld expects a Slurm node to stay out of service with the reason. slurmctld adds to it that slurmd does not respond.
func (c nodeSetEnv) expectNodeHeld(slurmNode, want string) {
	c.t.Helper()
	c.expectSteady(slurmNode+" is held", func() (bool, string) {
		state, reason, err := c.SlurmNode(c.t.Context(), slurmNode)
		out := strings.Contains(state, "DRAIN") && !strings.Contains(state, "FUTURE")
		return err == nil && out && strings.TrimSuffix(reason, " : Not responding") == want, fmt.Sprint(state, " ", reason, err)
	})
}

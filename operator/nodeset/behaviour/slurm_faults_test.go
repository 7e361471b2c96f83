package behaviour

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/comment"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// drainNode drains a Slurm node as another user.
func (r *testEnv) drainNode(name, by, reason string) {
	n := r.slurm.Nodes[name]
	n.State.Flags |= slurm.NodeDrain
	n.Reason, n.ReasonBy, n.ReasonAt = reason, by, slurm.At(r.now)
}

// settle polls and reconciles for a while.
func (r *testEnv) settle() {
	for range 5 {
		r.now = r.now.Add(10 * time.Second)
		r.pollAndReconcile()
	}
}

func newFaultEnv(t *testing.T, change ...func(*v1beta1.NodeSet)) *testEnv {
	change = append(change, nodesettest.WithMaxReplicas(2), func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "CPUs=4" })
	r := newTestEnv(t, nodesettest.NewNodeSet(2, change...))
	r.startWorkers()
	return r
}

func TestADrainOfSlurmEndsWithTheWorker(t *testing.T) {
	r := newFaultEnv(t)
	r.drainNode("gpu-1", "slurm", "Duplicate jobid")
	r.settle()
	if n := r.slurm.Nodes["gpu-1"]; !n.State.Has(slurm.NodeDrain) {
		t.Errorf("while the worker runs its node is %s", n.State)
	}
	r.takeEvents()
	r.scale(1)
	r.settle()
	if n := r.slurm.Nodes["gpu-1"]; n.State.Base != slurm.NodeFuture || n.State.Has(slurm.NodeDrain) {
		t.Errorf("when the worker is gone its node is %s", n.State)
	}
	const want = "slurm node gpu-1: the worker that Slurm drained (Duplicate jobid) is gone"
	if events := strings.Join(r.takeEvents(), "\n"); !strings.Contains(events, want) {
		t.Errorf("the events are %s", events)
	}
}

func TestADrainOfAnAdministratorOutlivesTheWorker(t *testing.T) {
	keep := func(n *v1beta1.NodeSet) { n.Spec.FaultDrains = &v1beta1.FaultDrains{Policy: v1beta1.FaultDrainsKeep} }
	for name, tc := range map[string]struct {
		reason string
		change []func(*v1beta1.NodeSet)
	}{
		"an administrator's":         {"bad memory", nil},
		"Slurm's, which are kept":    {"Duplicate jobid", []func(*v1beta1.NodeSet){keep}},
		"a health check's, unlisted": {"check_gpu: 3 of 4", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newFaultEnv(t, tc.change...)
			r.drainNode("gpu-1", "root", tc.reason)
			r.scale(1)
			r.settle()
			n := r.slurm.Nodes["gpu-1"]
			if r.podNames() != "gpu-0" || !n.State.Has(slurm.NodeDrain) || n.Reason != tc.reason {
				t.Errorf("the pods are %q, the node is %s %q", r.podNames(), n.State, n.Reason)
			}
			note, _ := comment.Parse(n.Comment)
			if note.PodName != "" || note.NodeSetUID == "" {
				t.Errorf("the comment is %q", n.Comment)
			}
			r.clearWrites()
			r.settle()
			expectStrings(t, "the calls once at rest", r.slurm.Calls)
		})
	}
}

func TestAnotherPodUnderTheNameOfAFaultyWorker(t *testing.T) {
	r := newFaultEnv(t)
	r.drainNode("gpu-1", "slurm", "Epilog error")
	r.slurm.Outage = "no route"
	pod := r.pod("gpu-1")
	r.must(r.Delete(t.Context(), pod, client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}))
	r.now = r.now.Add(time.Minute)
	r.reconcile() // on a stale reading
	r.slurm.Outage = ""
	r.startWorkers()
	r.settle()
	if n := r.slurm.Nodes["gpu-1"]; n.State.Has(slurm.NodeDrain) {
		t.Errorf("its node is %s %q", n.State, n.Reason)
	}
}

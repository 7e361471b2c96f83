package behaviour

import (
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func withPins(n *v1beta1.NodeSet) { n.Spec.PinToNode = true }

// startOn schedules a pod to a Kubernetes node and starts its slurmd.
func (r *testEnv) startOn(name, kubeNode string) {
	r.t.Helper()
	pod := r.pod(name)
	pod.Spec.NodeName = kubeNode
	r.must(r.Update(r.t.Context(), pod))
	nodesettest.SetRunning(pod, r.now)
	r.must(r.Status().Update(r.t.Context(), pod))
	name = observed.SlurmName(pod)
	if n := r.slurm.Nodes[name]; n == nil {
		r.slurm.Nodes[name] = nodesettest.NewSlurmNode(name, "IDLE")
	} else if n.State.Base == slurm.NodeFuture {
		n.State.Base = slurm.NodeIdle
	}
}

// TestAPinEndsWhenAnotherWorkerIsThere: gpu-0 is drained by a person, so that gpu-1 takes its place, on its Kubernetes node.
func TestAPinEndsWhenAnotherWorkerIsThere(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withPins, nodesettest.WithMaxReplicas(4)))
	r.pollAndReconcile()
	r.startOn("gpu-0", "kube-0")
	r.pollAndReconcile()
	drained := r.slurm.Nodes["gpu-0"]
	drained.State.Flags |= slurm.NodeDrain
	drained.Reason = "bad fan"
	for _, replicas := range []int32{0, 1} {
		r.scale(replicas)
		for range 5 {
			r.pollAndReconcile()
		}
	}
	r.startOn("gpu-1", "kube-0")
	r.pollAndReconcile()
	drained.State.Flags &^= slurm.NodeDrain
	drained.State.Base, drained.Reason = slurm.NodeDown, "Not responding"
	r.scale(2)
	for range 5 {
		r.pollAndReconcile()
	}
	if got := observed.RequiredKubeNode(r.pod("gpu-0")); got != "" {
		t.Errorf("gpu-0 must run on %s, where gpu-1 runs", got)
	}
}

// TestAWorkerThatWaitsForItsPinIsNamed: the Kubernetes node has no room for the successor of an update.
func TestAWorkerThatWaitsForItsPinIsNamed(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2, withPins, func(n *v1beta1.NodeSet) { n.Spec.UpdateStrategy.Type = v1beta1.UpdateRolling }))
	r.startWorkers()
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "CPUs=2" })
	for range 10 {
		r.now = r.now.Add(30 * time.Second)
		r.pollAndReconcile()
	}
	waits := ""
	for _, pod := range r.pods() {
		if pod.Spec.NodeName == "" {
			waits = pod.Name
		}
	}
	r.expectReady("Progressing: 1 of 2 workers are in service; worker " + waits + " is pinned to Kubernetes node kube-" + waits[len("gpu-"):] +
		", and is not scheduled there: to let it run elsewhere, cordon that node and delete the pod")
}

// TestAWorkerIsNotPinnedToALongName: with the network of its Kubernetes node, the worker would have a name that is too long for a label.
func TestAWorkerIsNotPinnedToALongName(t *testing.T) {
	long := "ip-10-0-0-1.very-long-availability-zone-name.of-some-region.compute.internal.example.com"
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withPins, withPodTemplate(`{"hostNetwork": true}`)), nodesettest.NewKubeNode(long))
	r.pollAndReconcile()
	r.startOn("gpu-0", long)
	r.pollAndReconcile()
	r.loseWorker("gpu-0", long)
	for range 3 {
		r.pollAndReconcile()
	}
	if r.podNames() != "gpu-0" {
		t.Errorf("pods %q, want gpu-0", r.podNames())
	}
}

// TestAPendingWorkerKeepsItsPin: with the network of its Kubernetes node it has the name of the node that it waits for.
func TestAPendingWorkerKeepsItsPin(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withPins, withPodTemplate(`{"hostNetwork": true}`)))
	r.pollAndReconcile()
	r.startOn("gpu-0", "kube-0")
	r.pollAndReconcile()
	r.loseWorker("gpu-0", "kube-0")
	for range 4 {
		r.now = r.now.Add(time.Minute)
		r.pollAndReconcile()
	}
	r.clearWrites()
	for range 6 {
		r.now = r.now.Add(time.Minute)
		r.pollAndReconcile()
	}
	for _, w := range r.writes {
		if strings.HasPrefix(w, "delete Pod") {
			t.Errorf("a worker that waits for its Kubernetes node: %s", w)
		}
	}
	for _, c := range r.nodeSet().Status.Conditions {
		if strings.Contains(c.Message, "no longer pinned") {
			t.Error(c.Message)
		}
	}
}

// TestAWorkerThatWaitsForAGoneKubernetesNodeIsCreatedAgain: its Kubernetes node was deleted while the worker waited for it.
func TestAWorkerThatWaitsForAGoneKubernetesNodeIsCreatedAgain(t *testing.T) {
	for what, template := range map[string]string{"own network": `{}`, "host network": `{"hostNetwork": true}`} {
		t.Run(what, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(1, withPins, withPodTemplate(template)))
			r.pollAndReconcile()
			r.startOn("gpu-0", "kube-0")
			r.pollAndReconcile()
			r.loseWorker("gpu-0", observed.SlurmName(r.pod("gpu-0")))
			for range 12 {
				r.pollAndReconcile()
			}
			if got := observed.RequiredKubeNode(r.pod("gpu-0")); got != "kube-0" {
				t.Fatalf("gpu-0 must run on %q, want kube-0", got)
			}
			r.must(r.Delete(t.Context(), nodesettest.NewKubeNode("kube-0")))
			for range 12 {
				r.pollAndReconcile()
			}
			if got := observed.RequiredKubeNode(r.pod("gpu-0")); got != "" {
				t.Errorf("gpu-0 must run on %s, which is gone", got)
			}
		})
	}
}

// TestAWorkerOfATemplateForAGoneKubernetesNodeStays: another pod would wait for the same Kubernetes node.
func TestAWorkerOfATemplateForAGoneKubernetesNodeStays(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withPodTemplate(`{"affinity": {"nodeAffinity": {
		"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["kube-x"]}]}]}}}}`)))
	for range 3 {
		r.pollAndReconcile()
	}
	r.clearWrites()
	for range 20 {
		r.pollAndReconcile()
	}
	for _, w := range r.writes {
		if strings.HasPrefix(w, "delete Pod") {
			t.Error(w)
		}
	}
}

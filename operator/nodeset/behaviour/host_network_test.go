package behaviour

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// startOnKubeNodes first schedules pods to the Kubernetes node of their index, and starts their slurmd with the name that it gets
// there.
func (r *testEnv) startOnKubeNodes() {
	r.t.Helper()
	for _, pod := range r.pods() {
		if pod.Labels[v1beta1.LabelAppName] == v1beta1.AppReleaseLookup || pod.Spec.NodeName != "" {
			continue
		}
		pod.Spec.NodeName = "kube-" + pod.Labels[v1beta1.LabelPodIndex]
		r.must(r.Update(r.t.Context(), pod))
		nodesettest.SetRunning(pod, r.now)
		r.must(r.Status().Update(r.t.Context(), pod))
		name := observed.SlurmName(pod)
		if n := r.slurm.Nodes[name]; n == nil {
			r.slurm.Nodes[name] = nodesettest.NewSlurmNode(name, "IDLE")
		} else if n.State.Base == slurm.NodeFuture {
			n.State.Base = slurm.NodeIdle
		}
	}
}

// avoidsKubeNodes reports whether a pod is kept off Kubernetes nodes by name.
func avoidsKubeNodes(pod *corev1.Pod) bool {
	return pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil
}

// TestALabelNamesNoWorkerWithTheNetworkOfItsNode: slurmd has the name of the Kubernetes node, whatever the label contains.
func TestALabelNamesNoWorkerWithTheNetworkOfItsNode(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2, withPodTemplate(`{"hostNetwork": true}`)))
	for range 4 {
		r.pollAndReconcile()
		r.startOnKubeNodes()
	}
	r.slurm.Start(7, "kube-1") // worker gpu-1
	r.pollAndReconcile()
	pod := r.pod("gpu-1")
	pod.Labels[v1beta1.LabelPodHostname] = "kube-0"
	r.must(r.Update(t.Context(), pod))
	r.scale(0)
	for range 60 {
		r.now = r.now.Add(30 * time.Second)
		r.pollAndReconcile()
	}
	if !strings.Contains(r.podNames(), "gpu-1") {
		t.Error("gpu-1 was deleted while job 7 runs on kube-1")
	}
}

// TestAWorkerAvoidsKubernetesNodesWithNamesOfSlurmNodes: the Slurm node x-0 of others has a job, and a Kubernetes node x-0 exists.
func TestAWorkerAvoidsKubernetesNodesWithNamesOfSlurmNodes(t *testing.T) {
	cordoned := func(n *corev1.Node) {
		n.Spec.Unschedulable = true
		n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
	}
	for what, change := range map[string]func(*slurm.Node){
		"slurm.conf": func(n *slurm.Node) { n.State = slurm.ParseNodeState("IDLE") },
		"another namespace": func(n *slurm.Node) {
			n.Comment = `{"namespace":"team-b","podName":"x-0","node":"kube-5","nodeSetName":"x","nodeSetUID":"uid-x"}`
		},
		"by hand": func(n *slurm.Node) { n.Comment = "bought in 2019" },
	} {
		t.Run(what, func(t *testing.T) {
			// It is cordoned now, and may not be when the pod is scheduled.
			r := newTestEnv(t, nodesettest.NewNodeSet(1, withPodTemplate(`{"hostNetwork": true}`)), nodesettest.NewKubeNode("x-0", cordoned))
			x := nodesettest.NewSlurmNode("x-0", "IDLE")
			change(x)
			r.slurm.Nodes["x-0"] = x
			r.slurm.Start(7, "x-0")
			r.pollAndReconcile()
			r.pollAndReconcile()
			if !avoidsKubeNodes(r.pod("gpu-0")) {
				t.Error("the worker may run on x-0, whose name has job 7")
			}
		})
	}
}

// TestAWorkerThatAvoidsAllKubernetesNodesIsNamed: the only Kubernetes node that it matches has the name of a Slurm node of others.
func TestAWorkerThatAvoidsAllKubernetesNodesIsNamed(t *testing.T) {
	template := `{"hostNetwork": true, "nodeSelector": {"kubernetes.io/hostname": "kube-0"}}`
	r := newTestEnv(t, nodesettest.NewNodeSet(2, withPodTemplate(template)))
	other := nodesettest.NewSlurmNode("kube-0", "IDLE")
	other.Comment = "bought in 2019"
	r.slurm.Nodes["kube-0"] = other
	for range 4 {
		r.pollAndReconcile()
	}
	r.expectReady("worker gpu-0 is not scheduled, and avoids Kubernetes nodes kube-0, because Slurm nodes of others or other workers have " +
		"their names; 1 more workers avoid Kubernetes nodes")
	delete(r.slurm.Nodes, "kube-0")
	for range 4 {
		r.pollAndReconcile()
	}
	if c := meta.FindStatusCondition(r.nodeSet().Status.Conditions, "Ready"); strings.Contains(c.Message, "avoid") {
		t.Errorf("Ready = %+v, although no Slurm node has the name kube-0", c)
	}
}

// TestSwappedNamesAreReplaced: gpu-0 runs on Kubernetes node gpu-1 and gpu-1 on gpu-0. The host's network is switched off, and the maximum
// is reached, so that each successor needs the name of the other worker.
func TestSwappedNamesAreReplaced(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2, withPodTemplate(`{"hostNetwork": true}`), nodesettest.WithMaxReplicas(2),
		func(n *v1beta1.NodeSet) { n.Spec.UpdateStrategy.Type = v1beta1.UpdateRolling }),
		nodesettest.NewKubeNode("gpu-0"), nodesettest.NewKubeNode("gpu-1"))
	r.pollAndReconcile()
	r.startOn("gpu-0", "gpu-1")
	r.startOn("gpu-1", "gpu-0")
	for range 3 {
		r.pollAndReconcile()
	}
	r.slurm.Start(7, "gpu-1") // worker gpu-0
	r.change(withPodTemplate(`{}`))
	for range 20 {
		r.now = r.now.Add(30 * time.Second)
		r.pollAndReconcile()
	}
	if pod := r.pod("gpu-0"); !pod.Spec.HostNetwork {
		t.Error("gpu-0 was replaced while job 7 runs there")
	}
	r.slurm.End(7)
	for range 20 {
		r.now = r.now.Add(30 * time.Second)
		r.pollAndReconcile()
	}
	for _, name := range []string{"gpu-0", "gpu-1"} {
		if pod := r.pod(name); pod.Spec.HostNetwork || observed.SlurmName(pod) != name {
			t.Errorf("worker %s has the Slurm node %s, and hostNetwork is %t", name, observed.SlurmName(pod), pod.Spec.HostNetwork)
		}
	}
}

// TestAKeptRevisionAvoidsKubernetesNodesToo: ordinal 0 keeps a revision with the network of its Kubernetes node, and the newest has its own.
func TestAKeptRevisionAvoidsKubernetesNodesToo(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withPodTemplate(`{"hostNetwork": true}`), func(n *v1beta1.NodeSet) {
		n.Spec.UpdateStrategy.Type = v1beta1.UpdateRolling
		n.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdate{Partition: new(int32(1))}
	}), nodesettest.NewKubeNode("x-0"))
	for range 4 {
		r.pollAndReconcile()
		r.startOnKubeNodes()
	}
	x := nodesettest.NewSlurmNode("x-0", "IDLE")
	x.Comment = `{"namespace":"slurm","podName":"x-0","node":"kube-5","nodeSetName":"x","nodeSetUID":"uid-x"}`
	r.slurm.Nodes["x-0"] = x
	r.slurm.Start(7, "x-0")
	r.change(withPodTemplate(`{}`))
	for range 3 {
		r.pollAndReconcile()
	}
	r.loseWorker("gpu-0", observed.SlurmName(r.pod("gpu-0")))
	for range 20 {
		r.now = r.now.Add(30 * time.Second)
		r.pollAndReconcile()
		if r.podNames() != "" {
			break
		}
	}
	if pod := r.pod("gpu-0"); pod.Spec.HostNetwork && !avoidsKubeNodes(pod) {
		t.Error("the worker of the old revision may run on x-0, whose name has job 7")
	}
}

// TestAPinToANameOfOthersEnds: a worker of zzz was once on the Kubernetes node gpu-0. Since then another NodeSet's worker has got that name.
func TestAPinToANameOfOthersEnds(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1), nodesettest.NewKubeNode("gpu-0"))
	r.startWorkers()
	r.slurm.Start(7, "gpu-0") // on kube-0
	other := nodesettest.NewNodeSet(1, withPodTemplate(`{"hostNetwork": true}`), func(n *v1beta1.NodeSet) { n.Spec.PinToNode = true })
	other.Name, other.UID = "zzz", "zzz-uid"
	r.createObject(other)
	other.Status.OrdinalToNode = map[string]string{"0": "gpu-0"}
	r.must(r.Status().Update(t.Context(), other))
	for range 12 {
		r.pollAndReconcile()
		r.reconcileOther("zzz")
	}
	for _, p := range r.pods() {
		if p.Name == "zzz-0" && observed.RequiredKubeNode(p) == "gpu-0" {
			t.Error("pod zzz-0 must run on gpu-0, as the Slurm node that has job 7")
		}
	}
	r.must(r.Get(t.Context(), client.ObjectKeyFromObject(other), other))
	want := "ordinal 0 is no longer pinned to Kubernetes node gpu-0, because others have the Slurm node gpu-0"
	if c := meta.FindStatusCondition(other.Status.Conditions, "Ready"); c == nil || !strings.Contains(c.Message, want) {
		t.Errorf("Ready = %+v, want %q", c, want)
	}
}

// TestAPendingWorkerIsCreatedAgainToAvoidAName: others get the name of a Kubernetes node, or a node with their name joins, while the worker
// waits for its Kubernetes node.
func TestAPendingWorkerIsCreatedAgainToAvoidAName(t *testing.T) {
	taken := func(r *testEnv) {
		r.slurm.Nodes["x-0"] = nodesettest.NewSlurmNode("x-0", "IDLE")
		r.slurm.Nodes["x-0"].Comment = `{"namespace":"b","podName":"x-0","node":"kube-5","nodeSetName":"x","nodeSetUID":"uid-x"}`
		r.slurm.Start(7, "x-0")
	}
	joined := func(r *testEnv) { r.createObject(nodesettest.NewKubeNode("x-0")) }
	for what, tc := range map[string]struct {
		before, after []func(*testEnv)
		isNew         bool
	}{
		"others get the name":                 {[]func(*testEnv){joined}, []func(*testEnv){taken}, true},
		"the Kubernetes node joins":           {[]func(*testEnv){taken}, []func(*testEnv){joined}, false}, // avoided before it exists
		"it joins, and others get the name":   {nil, []func(*testEnv){joined, taken}, true},
		"others get the name of no such node": {nil, []func(*testEnv){taken}, false},
	} {
		t.Run(what, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(1, withPodTemplate(`{"hostNetwork": true}`)))
			for _, change := range tc.before {
				change(r)
			}
			r.pollAndReconcile()
			first := r.pod("gpu-0").UID
			for _, change := range tc.after {
				change(r)
			}
			for range 4 {
				r.pollAndReconcile()
			}
			pod := r.pod("gpu-0")
			if isNew := pod.UID != first; isNew != tc.isNew {
				t.Errorf("created again: %v, want %v", isNew, tc.isNew)
			}
			joins := r.Get(t.Context(), client.ObjectKey{Name: "x-0"}, &corev1.Node{}) == nil
			if joins && !avoidsKubeNodes(pod) {
				t.Error("the pending worker may be scheduled to x-0, whose name has job 7")
			}
			r.clearWrites()
			for range 3 {
				r.pollAndReconcile()
			}
			if len(r.writes) > 0 {
				t.Errorf("the worker is not left alone: %q", r.writes)
			}
		})
	}
}

// TestNamesThatNoWorkerGetsDoNotMatter: Slurm nodes of others have the names of other Kubernetes nodes.
func TestNamesThatNoWorkerGetsDoNotMatter(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withPodTemplate(`{"hostNetwork": true}`)))
	r.slurm.Nodes["kube-5"] = nodesettest.NewSlurmNode("kube-5", "IDLE")
	r.slurm.Nodes["kube-5"].Comment = `{"namespace":"b","podName":"x","node":"kube-5","nodeSetName":"x","nodeSetUID":"uid-x"}`
	for range 6 {
		r.pollAndReconcile()
		r.startOnKubeNodes()
	}
	r.expectReady("Available: 1 of 1 workers are in service")
}

// TestUpdatesToHostNetworkKeepTheBudget: one of eight workers has the name of a Kubernetes node, and no Kubernetes node has room for
// successors.
func TestUpdatesToHostNetworkKeepTheBudget(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(8, func(n *v1beta1.NodeSet) { n.Spec.UpdateStrategy.Type = v1beta1.UpdateRolling }),
		nodesettest.NewKubeNode("gpu-7"))
	r.startWorkers()
	r.change(withPodTemplate(`{"hostNetwork": true}`))
	for range 40 {
		r.now = r.now.Add(30 * time.Second)
		r.pollAndReconcile()
	}
	var running []string
	for _, p := range r.pods() {
		if p.Spec.NodeName != "" {
			running = append(running, p.Name)
		}
	}
	if len(running) != 6 || slices.Contains(running, "gpu-7") {
		t.Errorf("%v run, want six of eight, without the one that keeps others from Kubernetes node gpu-7", running)
	}
}

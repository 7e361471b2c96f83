package behaviour

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
)

// reconcileOther reconciles another NodeSet than gpu.
func (r *testEnv) reconcileOther(name string) {
	r.t.Helper()
	if _, err := r.Reconcile(r.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "slurm", Name: name}}); err != nil {
		r.t.Fatal(err)
	}
}

// expectDistinctNames fails if two pods have one Slurm node name.
func (r *testEnv) expectDistinctNames(when string) {
	r.t.Helper()
	byName := map[string]string{}
	for _, pod := range r.pods() {
		name := observed.SlurmName(pod)
		if other := byName[name]; name != "" && other != "" {
			r.t.Errorf("%s: pods %s and %s both run slurmd under the name %s", when, other, pod.Name, name)
		}
		byName[name] = pod.Name
	}
}

// loseWorker removes a pod with its Kubernetes node, and the record in Slurm.
func (r *testEnv) loseWorker(pod, slurmName string) {
	r.t.Helper()
	live := r.pod(pod)
	r.must(r.Client.Delete(r.t.Context(), live, client.GracePeriodSeconds(0),
		client.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion}))
	delete(r.slurm.Nodes, slurmName)
}

// withHostname sets the prefix of the Slurm node names.
func withHostname(prefix string) func(n *v1beta1.NodeSet) {
	return func(n *v1beta1.NodeSet) { n.Spec.Template.Spec.Raw = []byte(`{"hostname": "` + prefix + `"}`) }
}

// A DaemonSet NodeSet on Kubernetes nodes kube-0, kube-1 and a NodeSet with hostname kube-, created at once (helm install).
func TestADaemonSetAndOrdinalsOfOneName(t *testing.T) {
	for _, withMax := range []bool{false, true} {
		change := []func(*v1beta1.NodeSet){withHostname("kube-")}
		if withMax {
			change = append(change, nodesettest.WithMaxReplicas(2))
		}
		other := nodesettest.NewNodeSet(0, func(n *v1beta1.NodeSet) {
			setPerKubeNode(n)
			n.Spec.Template.Spec.Raw = []byte(`{"nodeSelector": {"kubernetes.io/hostname": "kube-0"}}`)
		})
		other.Name, other.UID = "cpu", "uid-cpu"
		r := newTestEnv(t, nodesettest.NewNodeSet(1, change...), other)
		for range 3 {
			r.reconcileOther("cpu")
			r.pollAndReconcile()
		}
		r.expectDistinctNames(map[bool]string{false: "no maximum", true: "maximum"}[withMax])
	}
}

// The older NodeSet keeps its old names below the partition, after its hostname changed; the younger has the old hostname.
func TestANameBelowThePartitionOfAnOlderNodeSet(t *testing.T) {
	older := nodesettest.NewNodeSet(1, withHostname("x-"), func(n *v1beta1.NodeSet) {
		n.Spec.UpdateStrategy.Type = v1beta1.UpdateRolling
		n.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdate{Partition: new(int32(1))}
	})
	younger := nodesettest.NewNodeSet(1, withHostname("x-"))
	younger.Name, younger.UID = "zzz", "zzz-uid"
	r := newTestEnv(t, older, younger)
	r.startWorkers()
	r.change(withHostname("y-"))
	for range 3 {
		r.pollAndReconcile()
		r.reconcileOther("zzz")
	}
	r.expectDistinctNames("while the worker runs")
	r.loseWorker("gpu-0", "x-0")
	for range 3 {
		r.pollAndReconcile()
		r.reconcileOther("zzz")
	}
	r.expectDistinctNames("after the loss")
}

// The older NodeSet takes the younger one's prefix while the younger one's pod pulls its image: Slurm does not know it yet.
func TestAnOlderNodeSetGetsThePrefixOfAPendingWorker(t *testing.T) {
	older := nodesettest.NewNodeSet(0, withHostname("y-"))
	younger := nodesettest.NewNodeSet(1, withHostname("x-"))
	younger.Name, younger.UID = "zzz", "zzz-uid"
	r := newTestEnv(t, older, younger)
	r.pollAndReconcile()
	r.reconcileOther("zzz")
	r.change(func(n *v1beta1.NodeSet) { withHostname("x-")(n); n.Spec.Replicas = new(int32(1)) })
	for range 3 {
		r.pollAndReconcile()
		r.reconcileOther("zzz")
	}
	r.expectDistinctNames("both pull their images")
}

// The younger NodeSet keeps its own old names below the partition; its new hostname belongs to an older one. Its worker zzz-old-0,
// whose name no other could have, is lost.
func TestAYoungerNodeSetKeepsOldNamesOfItsOwn(t *testing.T) {
	other := nodesettest.NewNodeSet(1, withHostname("x-"))
	other.Name, other.UID = "cpu", "uid-cpu"
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withHostname("old-"), func(n *v1beta1.NodeSet) {
		n.Spec.UpdateStrategy.Type = v1beta1.UpdateRolling
		n.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdate{Partition: new(int32(1))}
	}), other)
	r.startWorkers()
	r.change(withHostname("x-"))
	r.pollAndReconcile()
	r.pollAndReconcile()
	r.loseWorker("gpu-0", "old-0")
	for range 10 {
		r.now = r.now.Add(60e9)
		r.pollAndReconcile()
	}
	if got := r.podNames(); got != "gpu-0" {
		c := meta.FindStatusCondition(r.nodeSet().Status.Conditions, "Ready")
		t.Errorf("pods = %q, Ready: %+v", got, c)
	}
}

// TestADaemonSetAndOrdinalsOfOneNameRunOn starts the containers of two workers with one name.
func TestADaemonSetAndOrdinalsOfOneNameRunOn(t *testing.T) {
	for _, first := range []string{"cpu", "gpu"} {
		other := nodesettest.NewNodeSet(0, func(n *v1beta1.NodeSet) {
			setPerKubeNode(n)
			n.Spec.Template.Spec.Raw = []byte(`{"nodeSelector": {"kubernetes.io/hostname": "kube-0"}}`)
		})
		other.Name, other.UID = "cpu", "uid-cpu"
		r := newTestEnv(t, nodesettest.NewNodeSet(1, withHostname("kube-")), other)
		if first == "cpu" {
			r.reconcileOther("cpu")
		}
		r.pollAndReconcile()
		if first == "gpu" {
			r.reconcileOther("cpu")
		}
		r.kubelet()
		last, changes := "", 0
		for i := range 40 {
			r.now = r.now.Add(30e9)
			r.pollAndReconcile()
			r.reconcileOther("cpu")
			if i%3 == 2 {
				r.kubelet()
			}
			if got := r.podNames(); got != last {
				last, changes = got, changes+1
				t.Logf("round %d: pods %q", i, got)
			}
		}
		r.expectDistinctNames(first)
		if changes > 4 {
			t.Errorf("the pods changed %d times", changes)
		}
	}
}

// The older NodeSet's worker runs a job. slurmctld was restored from an older state and does not list it. The older NodeSet gets
// another hostname (OnDelete, so that nothing is replaced). The younger one must not start a slurmd with the old name.
func TestAnOlderNodeSetIsRenamedWhileSlurmLostItsWorker(t *testing.T) {
	older := nodesettest.NewNodeSet(1, withHostname("x-"), func(n *v1beta1.NodeSet) {
		n.Spec.UpdateStrategy.Type = v1beta1.UpdateOnDelete
	})
	younger := nodesettest.NewNodeSet(1, withHostname("x-"))
	younger.Name, younger.UID = "zzz", "zzz-uid"
	r := newTestEnv(t, older, younger)
	r.startWorkers()
	r.change(withHostname("y-"))
	delete(r.slurm.Nodes, "x-0")
	for range 3 {
		r.pollAndReconcile()
		r.reconcileOther("zzz")
	}
	r.expectDistinctNames("slurmctld lost x-0")
}

// The spec of the older NodeSet becomes malformed: its names must stay its own.
func TestAnOlderNodeSetBecomesMalformed(t *testing.T) {
	older := nodesettest.NewNodeSet(1, withHostname("x-"))
	younger := nodesettest.NewNodeSet(1, withHostname("x-"))
	younger.Name, younger.UID = "zzz", "zzz-uid"
	r := newTestEnv(t, older, younger)
	r.pollAndReconcile() // its pod pulls the image
	r.change(func(n *v1beta1.NodeSet) { n.Spec.Template.Spec.Raw = []byte(`{"hostname": "x-", "containers": 7}`) })
	for range 3 {
		r.pollAndReconcile()
		r.reconcileOther("zzz")
	}
	r.expectDistinctNames("malformed")
}

// Two NodeSets of one prefix that lived side by side under the earlier operator, each with its own ordinals: the rolling update of
// the younger one removes its workers although nothing may take their places.
func TestAnUpdateLeavesWorkersThatCannotComeBack(t *testing.T) {
	x := withHostname("x-")
	other := nodesettest.NewNodeSet(0, withHostname("o-"))
	other.Name, other.UID = "cpu", "uid-cpu" // the older one: the smaller UID
	r := newTestEnv(t, nodesettest.NewNodeSet(2, x, func(n *v1beta1.NodeSet) { n.Spec.UpdateStrategy.Type = v1beta1.UpdateRolling }), other)
	r.startWorkers()
	r.must(r.Get(t.Context(), client.ObjectKeyFromObject(other), other))
	x(other) // as if the two had always had one prefix, without names of their own being reserved
	r.must(r.Update(t.Context(), other))
	r.pollAndReconcile()
	if got := r.podNames(); got != "gpu-0 gpu-1" {
		t.Fatalf("pods = %q before the update", got)
	}
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "CPUs=2" })
	for range 40 {
		r.now = r.now.Add(60e9)
		r.pollAndReconcile()
		r.kubelet()
	}
	t.Logf("writes %q calls %q", r.writes, r.slurm.Calls)
	for _, kind := range []string{"Ready", "Updated"} {
		t.Logf("%s: %+v", kind, meta.FindStatusCondition(r.nodeSet().Status.Conditions, kind))
	}
	if got := r.podNames(); got != "gpu-0 gpu-1" {
		for _, kind := range []string{"Ready", "Updated"} {
			t.Logf("%s: %+v", kind, meta.FindStatusCondition(r.nodeSet().Status.Conditions, kind))
		}
		t.Errorf("pods = %q after the update", got)
	}
}

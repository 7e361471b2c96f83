package behaviour

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
)

// withPodTemplate sets the pod's spec.
func withPodTemplate(spec string) func(n *v1beta1.NodeSet) {
	return func(n *v1beta1.NodeSet) { n.Spec.Template.Spec.Raw = []byte(spec) }
}

// TestAWorkerWithTheNetworkOfItsNodeAvoidsNodesWithTheNamesOfOthers: worker gpu-0 has a job, on another Kubernetes node than the
// one with its name.
func TestAWorkerWithTheNetworkOfItsNodeAvoidsNodesWithTheNamesOfOthers(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1), nodesettest.NewKubeNode("gpu-0"), nodesettest.NewKubeNode("gpu-7"))
	r.startWorkers()
	r.slurm.Start(7, "gpu-0")
	other := nodesettest.NewNodeSet(1, withPodTemplate(`{"hostNetwork": true}`))
	other.Name, other.UID = "zzz", "zzz-uid"
	r.createObject(other)
	r.pollAndReconcile()
	r.reconcileOther("zzz")
	pod := r.pod("zzz-0")
	if r.mayRunOn(pod, "gpu-0") || !r.mayRunOn(pod, "gpu-7") {
		t.Errorf("the pod requires %+v of its Kubernetes node, want it to avoid gpu-0", pod.Spec.Affinity)
	}
}

// TestANodeSetTakesNoNamesOfKubernetesNodesThatItDoesNotSelect: the Kubernetes nodes have the names of workers.
func TestANodeSetTakesNoNamesOfKubernetesNodesThatItDoesNotSelect(t *testing.T) {
	for what, template := range map[string]string{
		"other nodes": `{"hostNetwork": true, "nodeSelector": {"pool": "mpi"}}`, "malformed": `{"containers": 7}`,
	} {
		t.Run(what, func(t *testing.T) {
			other := nodesettest.NewNodeSet(0)
			other.Name, other.UID = "zzz", "zzz-uid"
			r := newTestEnv(t, nodesettest.NewNodeSet(1, nodesettest.WithMaxReplicas(4)), other, nodesettest.NewKubeNode("gpu-0"),
				nodesettest.NewKubeNode("gpu-1"), nodesettest.NewKubeNode("gpu-2"))
			r.startWorkers()
			r.must(r.Get(t.Context(), client.ObjectKeyFromObject(other), other))
			withPodTemplate(template)(other)
			r.must(r.Update(t.Context(), other))
			for range 60 {
				r.now = r.now.Add(30 * time.Second)
				r.pollAndReconcile()
			}
			if len(r.slurm.Nodes) != 4 {
				t.Errorf("there are %d records, want 4", len(r.slurm.Nodes))
			}
			r.scale(3)
			for range 10 {
				r.pollAndReconcile()
			}
			if got := r.podNames(); got != "gpu-0 gpu-1 gpu-2" {
				t.Errorf("the pods are %q", got)
			}
		})
	}
}

// TestAnInvalidNameOfAKubernetesNodeIsReported: it gets no worker.
func TestAnInvalidNameOfAKubernetesNodeIsReported(t *testing.T) {
	node := nodesettest.NewKubeNode("kube-x")
	node.Annotations[v1beta1.AnnotationHostnameOverride] = "Rack_1"
	r := newTestEnv(t, nodesettest.NewNodeSet(0, func(n *v1beta1.NodeSet) { n.Spec.ScalingMode = v1beta1.ScalingModeDaemonSet }), node)
	r.pollAndReconcile()
	r.pollAndReconcile()
	r.expectReady("Kubernetes node kube-x gets no worker until its annotation " + v1beta1.AnnotationHostnameOverride + " is a valid name")
	if got := len(r.pods()); got != 10 {
		t.Errorf("%d workers, want 10", got)
	}
}

// TestAnAnnotationOfAKubernetesNodeNamesNoSlurmNode: it would be an option of its own in slurmd's --conf.
func TestAnAnnotationOfAKubernetesNodeNamesNoSlurmNode(t *testing.T) {
	for _, key := range []string{v1beta1.AnnotationTopology, v1beta1.AnnotationFeatures} {
		t.Run(key, func(t *testing.T) {
			node := nodesettest.NewKubeNode("kube-x")
			node.Annotations[key] = "sw:a NodeName=foo"
			r := newTestEnv(t, nodesettest.NewNodeSet(0, func(n *v1beta1.NodeSet) { n.Spec.ScalingMode = v1beta1.ScalingModeDaemonSet }), node)
			r.pollAndReconcile()
			r.pollAndReconcile()
			for _, pod := range r.pods() {
				for _, e := range pod.Spec.Containers[0].Env {
					if strings.Contains(e.Value, "NodeName") {
						t.Errorf("pod %s starts slurmd with %s=%q", pod.Name, e.Name, e.Value)
					}
				}
			}
			if got := len(r.pods()); got != 11 {
				t.Errorf("%d workers, want 11", got)
			}
			r.expectReady("in the annotation " + key + " of Kubernetes node kube-x, values with white space")
		})
	}
}

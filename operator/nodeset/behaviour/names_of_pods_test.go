package behaviour

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/desired"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
)

// scheduleTo schedules a pod, whose image is still pulled.
func (r *testEnv) scheduleTo(pod, kubeNode string) {
	r.t.Helper()
	p := r.pod(pod)
	p.Spec.NodeName = kubeNode
	r.must(r.Update(r.t.Context(), p))
}

// mayRunOn reports whether a pod may be scheduled to a Kubernetes node.
func (r *testEnv) mayRunOn(pod *corev1.Pod, kubeNode string) bool {
	r.t.Helper()
	n := &corev1.Node{}
	r.must(r.Get(r.t.Context(), client.ObjectKey{Name: kubeNode}, n))
	return desired.Matches(&pod.Spec, n)
}

// TestAWorkerAvoidsTheNamesOfItsNodeSet: workers gpu-0 and gpu-1 run on the Kubernetes nodes gpu-1 and gpu-0, and the NodeSet changes to
// their network.
func TestAWorkerAvoidsTheNamesOfItsNodeSet(t *testing.T) {
	for what, pins := range map[string]bool{"an update": false, "an update with pins": true} {
		t.Run(what, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(2, func(n *v1beta1.NodeSet) {
				n.Spec.UpdateStrategy.Type, n.Spec.PinToNode = v1beta1.UpdateRolling, pins
			}), nodesettest.NewKubeNode("gpu-0"), nodesettest.NewKubeNode("gpu-1"))
			r.pollAndReconcile()
			r.startOn("gpu-0", "gpu-1")
			r.startOn("gpu-1", "gpu-0")
			for range 3 {
				r.pollAndReconcile()
			}
			r.slurm.Start(7, "gpu-1")
			r.pollAndReconcile()
			r.change(withPodTemplate(`{"hostNetwork": true}`))
			for range 12 {
				r.pollAndReconcile()
			}
			pod := r.pod("gpu-0")
			if !pod.Spec.HostNetwork || pod.Spec.NodeName != "" {
				t.Fatalf("gpu-0 was not updated: hostNetwork %v on %q", pod.Spec.HostNetwork, pod.Spec.NodeName)
			}
			if r.mayRunOn(pod, "gpu-1") {
				t.Error("gpu-0 may run on Kubernetes node gpu-1, as the Slurm node on which job 7 of pod gpu-1 runs")
			}
			if pod := r.pod("gpu-1"); pod.Annotations[v1beta1.AnnotationDrainCause] != v1beta1.DrainCauseUpdate {
				t.Error("the update of gpu-1 waits for gpu-0, and gpu-0 for the name of gpu-1")
			}
			r.scheduleTo("gpu-0", "gpu-1") // the scheduler was quicker
			for range 3 {
				r.pollAndReconcile()
			}
			r.expectDistinctNames("after it was scheduled")
		})
	}
}

// TestAWorkerAvoidsTheNameOfALostOne: job 7 runs under the name gpu-0 on kube-0, whose kubelet is away.
func TestAWorkerAvoidsTheNameOfALostOne(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, func(n *v1beta1.NodeSet) { n.Spec.UpdateStrategy.Type = v1beta1.UpdateOnDelete }),
		nodesettest.NewKubeNode("gpu-0"))
	r.startWorkers()
	r.slurm.Start(7, "gpu-0")
	r.pollAndReconcile()
	r.change(withPodTemplate(`{"hostNetwork": true}`))
	r.pollAndReconcile()
	live := r.pod("gpu-0")
	r.must(r.Client.Delete(t.Context(), live, client.GracePeriodSeconds(0),
		client.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion}))
	for range 20 {
		r.now = r.now.Add(30 * time.Second)
		r.pollAndReconcile()
	}
	if r.mayRunOn(r.pod("gpu-0"), "gpu-0") {
		t.Error("the worker may run on Kubernetes node gpu-0, as the Slurm node that has job 7")
	}
}

// TestNamesOfWorkersWithoutANodeSet: the NodeSet was deleted with --cascade=orphan while its worker pulled the image.
func TestNamesOfWorkersWithoutANodeSet(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withHostname("x-")))
	r.pollAndReconcile()
	pod := r.pod("gpu-0")
	pod.OwnerReferences = nil
	r.must(r.Update(t.Context(), pod))
	n := r.nodeSet()
	n.Finalizers = nil
	r.must(r.Update(t.Context(), n))
	r.must(client.IgnoreNotFound(r.Delete(t.Context(), n)))
	other := nodesettest.NewNodeSet(1, withHostname("x-"))
	other.Name, other.UID = "zzz", "zzz-uid"
	r.createObject(other)
	for range 15 { // longer than a name is claimed
		r.now = r.now.Add(10 * time.Second)
		r.slurm.Poll()
		r.reconcileOther("zzz")
	}
	if got := r.podNames(); got != "gpu-0 zzz-1" {
		t.Errorf("pods = %q, want gpu-0 and zzz-1", got)
	}
	r.expectDistinctNames("the first pulls its image")
}

// TestAWorkerThatPullsItsImageKeepsItsName: a Kubernetes node gpu-0 joins, and the scheduler, which has a pod with its network, is quicker
// than the operator.
func TestAWorkerThatPullsItsImageKeepsItsName(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	other := nodesettest.NewNodeSet(1, withPodTemplate(`{"hostNetwork": true}`))
	other.Name, other.UID = "zzz", "zzz-uid"
	r.pollAndReconcile()
	r.createObject(other)
	r.reconcileOther("zzz")
	r.reconcileOther("zzz")
	r.createObject(nodesettest.NewKubeNode("gpu-0"))
	if r.mayRunOn(r.pod("zzz-0"), "gpu-0") {
		t.Error("zzz-0 may run on Kubernetes node gpu-0, whose name pod gpu-0 has")
	}
	first := r.pod("gpu-0").UID
	r.scheduleTo("zzz-0", "gpu-0")
	for range 12 {
		r.now = r.now.Add(10 * time.Second)
		r.slurm.Poll()
		r.reconcile()
		r.reconcileOther("zzz")
	}
	r.expectDistinctNames("both pull images")
	if r.pod("gpu-0").UID != first {
		t.Error("the older pod lost its name")
	}
}

// TestAnOldReadingExposesNoWorker: Slurm is away, and a Kubernetes node joins that has the name of a pod of others.
func TestAnOldReadingExposesNoWorker(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withPodTemplate(`{"hostNetwork": true}`)))
	r.pollAndReconcile()
	other := nodesettest.NewNodeSet(1, withHostname("x-"))
	other.Name, other.UID = "cpu", "uid-cpu"
	r.createObject(other)
	r.reconcileOther("cpu")
	r.createObject(nodesettest.NewKubeNode("x-0"))
	for range 3 {
		r.now = r.now.Add(10 * time.Minute) // no later poll
		r.reconcile()
	}
	if got := r.podNames(); got != "cpu-0 gpu-0" || r.mayRunOn(r.pod("gpu-0"), "x-0") {
		t.Errorf("of the pods %s, gpu-0 may run on x-0, whose name cpu-0 has", got)
	}
}

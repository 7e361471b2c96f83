package behaviour

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
)

func owner(kind, name string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: kind, Name: name, UID: uid,
		Controller: new(true), BlockOwnerDeletion: new(true)}}
}

// newSlinkyWorker returns a worker of NodeSet gpu as Slinky's operator makes them.
func newSlinkyWorker(ordinal int, revision string) *corev1.Pod {
	p := nodesettest.NewWorkerPod(ordinal)
	p.OwnerReferences = owner(v1beta1.KindNodeSet, "gpu", nodesettest.NodeSetUID)
	for key, value := range map[string]string{v1beta1.LabelAppName: v1beta1.AppSlurmd, v1beta1.LabelAppInstance: "gpu",
		v1beta1.LabelAppComponent: "worker", v1beta1.LabelCluster: "slurm", v1beta1.LabelPodName: p.Name,
		v1beta1.LabelScalingMode: "StatefulSet", v1beta1.LabelPodProtect: "true"} {
		p.Labels[key] = value
	}
	p.Labels[render.LabelRevision] = revision
	if revision == "" {
		delete(p.Labels, render.LabelRevision)
	}
	p.Spec.Containers = []corev1.Container{{Name: "slurmd", Image: "slinky/slurmd:26.05"}}
	return p
}

// newSlinkyObjects returns the objects of Slinky's operator for NodeSet gpu, except its workers.
func newSlinkyObjects() []client.Object {
	shared := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "slurm", Name: name, UID: types.UID("uid-" + name),
			OwnerReferences: owner(v1beta1.KindController, "slurm", "uid-controller")}
	}
	revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "slurm", Name: "gpu-5d9c7", UID: "uid-rev",
		Labels:          map[string]string{"controller.kubernetes.io/hash": "5d9c7"},
		OwnerReferences: owner(v1beta1.KindNodeSet, "gpu", nodesettest.NodeSetUID)}, Revision: 4}
	revision.Data.Raw = []byte(`{"spec":{"template":{"$patch":"replace"}}}`)
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: shared("slurm-workers-pdb-slurm")}
	budget.Spec.MaxUnavailable = new(intstr.FromInt32(0))
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{v1beta1.LabelPodProtect: "true"}}
	service := &corev1.Service{ObjectMeta: shared("slurm-workers-slurm")}
	service.Spec.ClusterIP, service.Spec.Selector = corev1.ClusterIPNone, map[string]string{v1beta1.LabelCluster: "slurm"}
	return []client.Object{revision, budget, service}
}

// newTakenOver returns three workers of Slinky's operator with the given labels of revisions. The first one runs job 7.
// theirs is the newest revision that Slinky's operator reported.
func newTakenOver(t *testing.T, theirs string, labels ...string) *testEnv {
	t.Helper()
	n := nodesettest.NewNodeSet(int32(len(labels)))
	n.Status.NodeSetHash, n.Status.Selector, n.Status.Replicas = theirs, "app.kubernetes.io/instance=gpu", 3
	r := newTestEnv(t, n, newSlinkyObjects()...)
	for i, label := range labels {
		name := fmt.Sprintf("gpu-%d", i)
		r.createObject(newSlinkyWorker(i, label))
		r.slurm.Nodes[name] = nodesettest.NewSlurmNode(name, "IDLE")
		r.slurm.Nodes[name].Comment = fmt.Sprintf(`{"namespace":"slurm","podName":%q,"node":"kube-%d","nodeSetName":"gpu",`+
			`"nodeSetUID":%q}`, name, i, nodesettest.NodeSetUID)
	}
	r.slurm.Start(7, "gpu-0")
	r.clearWrites()
	return r
}

// expectWorkersKept reconciles, also with an operator that has just started, and fails if a worker is replaced or drained.
func (r *testEnv) expectWorkersKept() {
	r.t.Helper()
	before := map[string]types.UID{}
	for _, pod := range r.pods() {
		before[pod.Name] = pod.UID
	}
	for range 5 {
		r.pollAndReconcile()
	}
	r.restart()
	for range 5 {
		r.pollAndReconcile()
	}
	for _, pod := range r.pods() {
		if pod.UID != before[pod.Name] || pod.DeletionTimestamp != nil {
			r.t.Errorf("pod %s is another one", pod.Name)
		}
		delete(before, pod.Name)
	}
	if len(before) > 0 {
		r.t.Errorf("the pods %v are gone", before)
	}
	for _, call := range r.slurm.Calls {
		if strings.HasPrefix(call, "drain") {
			r.t.Errorf("there is the call %q", call)
		}
	}
}

// TestWorkersOfSlinkyAreTakenOver: changing the operator replaces or drains no worker, whatever label the other operator
// set. Workers become outdated when the spec changes, and are drained first.
func TestWorkersOfSlinkyAreTakenOver(t *testing.T) {
	for name, label := range map[string]string{"its newest revision": "5d9c7", "another text": "gpu-5d9c7", "no label": ""} {
		t.Run(name, func(t *testing.T) {
			r := newTakenOver(t, "5d9c7", label, label, label)
			r.expectWorkersKept()
			r.expectCondition("Ready", metav1.ConditionTrue, v1beta1.ReasonAvailable)
			r.expectCondition("Updated", metav1.ConditionTrue, v1beta1.ReasonUpToDate)
			if owners := r.pod("gpu-0").OwnerReferences; len(owners) != 2 || revisionOf(r.pod("gpu-0")) != label {
				t.Errorf("worker gpu-0 has the revision %q and the owners %+v", revisionOf(r.pod("gpu-0")), owners)
			}
			theirs := &appsv1.ControllerRevision{}
			r.must(r.Get(t.Context(), client.ObjectKey{Namespace: "slurm", Name: "gpu-5d9c7"}, theirs))

			r.scale(4)
			r.startWorkers()
			r.expectWorkersKept()
			r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "Weight=5" })
			for range 30 {
				r.pollAndReconcile()
				r.now = r.now.Add(time.Minute)
				r.kubelet()
			}
			newest := r.nodeSet().Status.NodeSetHash
			for _, pod := range r.pods() {
				if isNewest := revisionOf(pod) == newest; isNewest == (pod.Name == "gpu-0") {
					t.Errorf("after a change worker %s has revision %q, the newest is %s", pod.Name, revisionOf(pod), newest)
				}
			}
			r.slurm.End(7) // it ran on gpu-0
			for range 6 {
				r.pollAndReconcile()
				r.now = r.now.Add(time.Minute)
				r.kubelet()
			}
			r.expectCondition("Updated", metav1.ConditionTrue, v1beta1.ReasonUpToDate)
		})
	}
}

// TestAnUpdateOfSlinkyGoesOn: a worker that the other operator had not brought to its newest revision is replaced when
// it has no job.
func TestAnUpdateOfSlinkyGoesOn(t *testing.T) {
	r := newTakenOver(t, "5d9c7", "5d9c7", "old", "5d9c7")
	for range 10 {
		r.pollAndReconcile()
		r.now = r.now.Add(time.Minute)
		r.kubelet()
	}
	newest := r.nodeSet().Status.NodeSetHash
	for name, want := range map[string]string{"gpu-0": "5d9c7", "gpu-1": newest, "gpu-2": "5d9c7"} {
		if got := revisionOf(r.pod(name)); got != want {
			t.Errorf("worker %s has the revision %s, not %s", name, got, want)
		}
	}
}

package behaviour

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/refs"
)

func TestWhoIsReconciledForAClusterThatChanges(t *testing.T) {
	other := nodesettest.NewNodeSet(0)
	other.Name, other.UID, other.Spec.ControllerRef = "cpu", "uid-cpu", &corev1.LocalObjectReference{Name: "another"}
	r := newTestEnv(t, nodesettest.NewNodeSet(0), other)
	if got := r.Requests(t.Context(), refs.ClusterKey{Kind: v1beta1.KindController, Namespace: "slurm",
		Name: "slurm"}); len(got) != 1 || got[0] != request {
		t.Errorf("of a Controller they are %v", got)
	}
	if got := r.Requests(t.Context(), refs.ClusterKey{Kind: v1beta1.KindCluster, Namespace: "slurm",
		Name: "slurm"}); len(got) != 0 {
		t.Errorf("of a Cluster of that name they are %v", got)
	}
}

func TestWhatIsOwnedByOthersIsNoWorker(t *testing.T) {
	owner := func(kind, uid string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "v1", Kind: kind, UID: "uid-gpu", Controller: new(true), Name: uid}}
	}
	foreign := nodesettest.NewWorkerPod(0, func(p *corev1.Pod) { p.OwnerReferences = owner("StatefulSet", "x") })
	revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "gpu-x", Namespace: "slurm",
		OwnerReferences: owner("DaemonSet", "x")}}
	r := newTestEnv(t, nodesettest.NewNodeSet(0), foreign, revision)
	for range 3 {
		r.pollAndReconcile()
	}
	if r.podNames() != "gpu-0" || r.nodeSet().Status.Replicas != 0 {
		t.Errorf("the pods are %q, the status %+v", r.podNames(), r.nodeSet().Status)
	}
	r.must(r.Get(t.Context(), client.ObjectKeyFromObject(revision), revision))
}

package nodeset

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
)

func TestWhichChangesAreLookedAt(t *testing.T) {
	node := func(change ...func(*corev1.Node)) client.Object { return nodesettest.NewKubeNode("kube-0", change...) }
	for _, tc := range []struct {
		name string
		now  client.Object
		want bool
	}{
		{"a heartbeat is not", node(func(n *corev1.Node) { n.ResourceVersion = "8"; n.Status.Phase = "x" }), false},
		{"a cordon is", node(nodesettest.SetCordoned), true},
		{"a label is", node(func(n *corev1.Node) { n.Labels["gpu"] = "yes" }), true},
		{"an annotation is", node(func(n *corev1.Node) { n.Annotations["a"] = "b" }), true},
		{"a taint is", node(func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "a"}} }), true},
		{"a deletion is", node(func(n *corev1.Node) { n.DeletionTimestamp = new(metav1.NewTime(nodesettest.Noon)) }),
			true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := kubeNodeChanged().Update(
				event.UpdateEvent{ObjectOld: node(), ObjectNew: tc.now}); got != tc.want {
				t.Errorf("it is %t", got)
			}
		})
	}
	deleted, freed := nodesettest.NewNodeSet(1), nodesettest.NewNodeSet(1)
	deleted.DeletionTimestamp, freed.Finalizers = new(metav1.NewTime(nodesettest.Noon)), []string{"x"}
	for _, now := range []client.Object{deleted, freed} {
		if !deletionOrFinalizersChanged().Update(event.UpdateEvent{ObjectOld: nodesettest.NewNodeSet(1),
			ObjectNew: now}) {
			t.Errorf("%v is not looked at", now)
		}
	}
	if deletionOrFinalizersChanged().Update(event.UpdateEvent{ObjectOld: nodesettest.NewNodeSet(1),
		ObjectNew: nodesettest.NewNodeSet(2)}) {
		t.Error("another spec is a deletion")
	}
}

func TestWhoIsReconciledForKubernetesNodesAndHPAs(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	other := nodesettest.NewNodeSet(0)
	other.Name = "cpu"
	r := &Reconciler{client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		nodesettest.NewNodeSet(0), other).Build()}
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "slurm", Name: "gpu"}}
	if got := r.everyNodeSet(t.Context(), nodesettest.NewKubeNode("kube-0")); len(got) != 2 {
		t.Errorf("of a Kubernetes node they are %v", got)
	}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "slurm"}}
	hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: v1beta1.SchemeGroupVersion.String(),
		Kind: v1beta1.KindNodeSet, Name: "gpu"}
	if got := requestsOfHPA(t.Context(), hpa); len(got) != 1 || got[0] != request {
		t.Errorf("of an HPA they are %v", got)
	}
}

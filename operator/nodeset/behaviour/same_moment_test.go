package behaviour

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
)

// hidePods gives the reconciler a cache that shows no pods until the result is called.
func (r *testEnv) hidePods() (show func()) {
	hidden := true
	r.restartWithCache(interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			if pods, ok := list.(*corev1.PodList); ok && hidden {
				pods.Items = nil
			}
			return err
		}}))
	return func() { hidden = false }
}

// TestTwoDaemonSetNodeSetsAtTheSameMoment: oversubscribeNode lets Kubernetes run workers of both on a node.
func TestTwoDaemonSetNodeSetsAtTheSameMoment(t *testing.T) {
	onKubeNode := func(n *v1beta1.NodeSet) {
		setPerKubeNode(n)
		n.Spec.OversubscribeNode = true
		n.Spec.Template.Spec.Raw = []byte(`{"nodeSelector": {"kubernetes.io/hostname": "kube-0"}}`)
	}
	other := nodesettest.NewNodeSet(0, onKubeNode)
	other.Name, other.UID = "cpu", "uid-cpu"
	r := newTestEnv(t, nodesettest.NewNodeSet(0, onKubeNode), other)
	show := r.hidePods()
	r.pollAndReconcile()
	r.reconcileOther("cpu")
	show()
	r.expectDistinctNames("created at once")
	for range 60 {
		r.pollAndReconcile()
		r.reconcileOther("cpu")
	}
	r.expectDistinctNames("after ten minutes")
	if len(r.pods()) != 1 {
		t.Errorf("the pods are %q, want one", r.podNames())
	}
}

// TestARenameAndAScaleOutAtTheSameMoment: one change gives the older NodeSet the names of the younger one, and a worker to
// each. The younger one does not see the older one's new name yet, and the older one does not see the younger one's pod.
func TestARenameAndAScaleOutAtTheSameMoment(t *testing.T) {
	younger := nodesettest.NewNodeSet(0, withHostname("x-"))
	younger.Name, younger.UID = "zzz", "zzz-uid"
	r := newTestEnv(t, nodesettest.NewNodeSet(0, withHostname("y-")), younger)
	r.pollAndReconcile()
	r.reconcileOther("zzz")
	show := r.hidePods()
	r.must(r.Get(t.Context(), client.ObjectKeyFromObject(younger), younger))
	younger.Spec.Replicas = new(int32(1))
	r.must(r.Update(t.Context(), younger))
	r.pollAndReconcile()
	r.reconcileOther("zzz")
	r.change(func(n *v1beta1.NodeSet) { withHostname("x-")(n); n.Spec.Replicas = new(int32(1)) })
	r.reconcile()
	show()
	r.expectDistinctNames("created at once")
	for range 60 {
		r.now = r.now.Add(time.Minute)
		r.pollAndReconcile()
		r.reconcileOther("zzz")
	}
	r.expectDistinctNames("after an hour")
	if len(r.pods()) != 2 {
		t.Errorf("the pods are %q, want one of each", r.podNames())
	}
}

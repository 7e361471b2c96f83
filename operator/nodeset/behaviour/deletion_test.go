package behaviour

import (
	"context"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
)

// removeOwner removes the NodeSet from the owners of its objects, as the garbage collector does: in the
// foreground, or to leave orphans. In the foreground it deletes objects without another owner.
func (r *testEnv) removeOwner(inForeground bool) {
	r.t.Helper()
	off := func(refs []metav1.OwnerReference) []metav1.OwnerReference {
		return slices.DeleteFunc(refs,
			func(ref metav1.OwnerReference) bool { return ref.UID == nodesettest.NodeSetUID })
	}
	revisions := &appsv1.ControllerRevisionList{}
	r.must(r.List(r.t.Context(), revisions))
	objects := []client.Object{}
	for _, p := range r.pods() {
		objects = append(objects, p)
	}
	for i := range revisions.Items {
		objects = append(objects, &revisions.Items[i])
	}
	for _, obj := range objects {
		obj.SetOwnerReferences(off(obj.GetOwnerReferences()))
		if inForeground && len(obj.GetOwnerReferences()) == 0 {
			r.must(r.Client.Delete(r.t.Context(), obj))
			continue
		}
		r.must(r.Update(r.t.Context(), obj))
	}
}

func (r *testEnv) isGone() bool {
	return apierrors.IsNotFound(r.Get(r.t.Context(), request.NamespacedName, &v1beta1.NodeSet{}))
}

func TestForegroundDeletionWaitsForJobs(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(2)))
	r.startWorkers()
	r.slurm.Start(7, "gpu-0")
	r.must(r.Delete(t.Context(), r.nodeSet()))
	r.removeOwner(true)
	for range 6 {
		r.pollAndReconcile()
	}
	if r.podNames() != "gpu-0" || r.pod("gpu-0").DeletionTimestamp != nil {
		t.Fatalf("while a job runs the pods are %q", r.podNames())
	}
	r.slurm.End(7)
	for range 4 {
		if !r.isGone() {
			r.pollAndReconcile()
		}
	}
	if r.podNames() != "" || !r.isGone() {
		t.Errorf("the pods are %q", r.podNames())
	}
	if len(r.slurm.Nodes) > 0 {
		t.Errorf("records are left: %v", r.slurm.Nodes)
	}
}

func TestOrphansAreLeftAndAdopted(t *testing.T) {
	for name, late := range map[string]bool{"while the finalizer is there": false, "when it has gone": true} {
		t.Run(name, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(4)))
			r.startWorkers()
			r.slurm.Start(7, "gpu-0")
			if !late {
				r.change(func(n *v1beta1.NodeSet) {
					n.Finalizers = append(n.Finalizers,
						metav1.FinalizerOrphanDependents)
				})
			}
			r.must(r.Delete(t.Context(), r.nodeSet()))
			r.removeOwner(false)
			r.pollAndReconcile()
			if !late { // it was in the way of the end
				r.change(func(n *v1beta1.NodeSet) { n.Finalizers = nil })
			}
			before := r.pods()
			if !r.isGone() || r.podNames() != "gpu-0 gpu-1" || len(r.slurm.Calls) > 0 {
				t.Fatalf("the pods are %q, the writes to Slurm %q", r.podNames(), r.slurm.Calls)
			}

			r.createObject(nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(4)))
			r.clearWrites()
			r.restart()
			for range 4 {
				r.pollAndReconcile()
			}
			next := r.nodeSet()
			for i, pod := range r.pods() {
				if pod.UID != before[i].UID || !metav1.IsControlledBy(pod, next) || len(pod.OwnerReferences) != 2 {
					t.Errorf("%s is %+v", pod.Name, pod.ObjectMeta)
				}
			}
			for _, call := range r.slurm.Calls {
				if call != "update gpu-0" && call != "update gpu-1" && call != "update gpu-[2-3]" {
					t.Errorf("Slurm was told: %s", call)
				}
			}
			r.expectCondition("Ready", "True", "Available")
			r.expectCondition("Submittable", "True", "RecordsReady")
			r.expectCondition("Updated", "True", "UpToDate")
		})
	}
}

// TestWorkersOfAnEarlierVersionAreAnchored: they are not recreated for that.
func TestWorkersOfAnEarlierVersionAreAnchored(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.startWorkers()
	pod := r.pod("gpu-0")
	pod.OwnerReferences = pod.OwnerReferences[:1]
	r.must(r.Update(t.Context(), pod))
	r.clearWrites()
	r.pollAndReconcile()
	expectStrings(t, "the writes", r.writes, "patch Pod gpu-0")
	if got := r.pod("gpu-0"); got.UID != pod.UID || len(got.OwnerReferences) != 2 ||
		!metav1.IsControlledBy(got, r.nodeSet()) {
		t.Errorf("the pod is %+v", got.ObjectMeta)
	}
}

// TestWithoutTheNamespaceNoWorkerIsMade: such a worker would be deleted with the NodeSet.
func TestWithoutTheNamespaceNoWorkerIsMade(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.must(r.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "slurm"}}))
	r.pollAndReconcile()
	r.expectCondition("Ready", "False", "ReferenceNotFound")
	if r.podNames() != "" {
		t.Errorf("the pods are %q", r.podNames())
	}
}

// laggingClient reads a NodeSet as another did before: a cache that lags.
type laggingClient struct {
	client.Client
	nodeSet *v1beta1.NodeSet
}

func (l laggingClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object,
	opts ...client.GetOption) error {
	if n, ok := obj.(*v1beta1.NodeSet); ok {
		l.nodeSet.DeepCopyInto(n)
		return nil
	}
	return l.Client.Get(ctx, key, obj, opts...)
}

// TestNothingIsAdoptedWhoseDeletionTheCacheLacks: the garbage collector takes the NodeSet
// off its workers before the operator hears of the deletion.
func TestNothingIsAdoptedWhoseDeletionTheCacheLacks(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.startWorkers()
	before := r.nodeSet()
	r.must(r.Delete(t.Context(), r.nodeSet()))
	r.removeOwner(false)
	r.clearWrites()
	r.restartWithCache(laggingClient{r.Client, before})
	r.pollAndReconcile()
	expectStrings(t, "the writes", r.writes)
	if pod := r.pod("gpu-0"); metav1.GetControllerOf(pod) != nil {
		t.Errorf("the pod's owners are %+v", pod.OwnerReferences)
	}
}

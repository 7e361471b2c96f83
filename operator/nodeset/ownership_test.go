package nodeset

import (
	"context"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
)

// removeOwner takes the NodeSet off what it made, as the garbage collector does: in the
// foreground, or to leave orphans. What has no other owner it deletes in the foreground.
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
	r.slurm.start(7, "gpu-0")
	r.must(r.Delete(t.Context(), r.nodeSet()))
	r.removeOwner(true)
	for range 6 {
		r.pollAndReconcile()
	}
	if r.podNames() != "gpu-0" || r.pod("gpu-0").DeletionTimestamp != nil {
		t.Fatalf("while a job runs the pods are %q", r.podNames())
	}
	r.slurm.end(7)
	for range 4 {
		if !r.isGone() {
			r.pollAndReconcile()
		}
	}
	if r.podNames() != "" || !r.isGone() {
		t.Errorf("the pods are %q", r.podNames())
	}
	if len(r.slurm.nodes) > 0 {
		t.Errorf("records are left: %v", r.slurm.nodes)
	}
}

func TestOrphansAreLeftAndAdopted(t *testing.T) {
	for name, late := range map[string]bool{"while the finalizer is there": false, "when it has gone": true} {
		t.Run(name, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(4)))
			r.startWorkers()
			r.slurm.start(7, "gpu-0")
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
			if !r.isGone() || r.podNames() != "gpu-0 gpu-1" || len(r.slurm.calls) > 0 {
				t.Fatalf("the pods are %q, the writes to Slurm %q", r.podNames(), r.slurm.calls)
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
			for _, call := range r.slurm.calls {
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

// TestWithoutTheNamespaceNoWorkerIsMade: such a worker would go with the NodeSet.
func TestWithoutTheNamespaceNoWorkerIsMade(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.must(r.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "slurm"}}))
	r.pollAndReconcile()
	r.expectCondition("Ready", "False", "ReferenceNotFound")
	if r.podNames() != "" {
		t.Errorf("the pods are %q", r.podNames())
	}
}

func TestWhoseAPodIs(t *testing.T) {
	labels := func(change ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Labels = names.NodeSetSelector("gpu", "slurm")
			p.Labels[render.LabelRevision], p.Labels[v1beta1.LabelPodName] = "new", p.Name
			for i := 0; i < len(change); i += 2 {
				p.Labels[change[i]] = change[i+1]
			}
		}
	}
	owned := func(kind, name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, UID: types.UID("x"),
				Controller: new(true)}}
		}
	}
	for _, tc := range []struct {
		name string
		pod  *corev1.Pod
		want string
	}{
		{"its controller's", nodesettest.NewWorkerPod(0, owned("NodeSet", "cpu"), labels()), "cpu"},
		{"another kind's", nodesettest.NewWorkerPod(0, owned("StatefulSet", "gpu"), labels()), ""},
		{"an orphan's, by its labels", nodesettest.NewWorkerPod(0, labels()), "gpu"},
		{"not a copy's", nodesettest.NewWorkerPod(0, labels(v1beta1.LabelPodName, "gpu-7")), ""},
		{"nobody's", nodesettest.NewWorkerPod(0), ""},
		{"not a login pod's", nodesettest.NewWorkerPod(0, labels(v1beta1.LabelAppName, v1beta1.AppLogin)), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := nodeSetOf(tc.pod); got != tc.want {
				t.Errorf("it is %q", got)
			}
		})
	}
}

func TestWhichDeletionLeavesOrphans(t *testing.T) {
	deleted := func(finalizers ...string) *v1beta1.NodeSet {
		return nodesettest.NewNodeSet(1, func(n *v1beta1.NodeSet) {
			n.DeletionTimestamp, n.Finalizers = new(metav1.NewTime(nodesettest.Noon)),
				slices.Concat(finalizers, []string{v1beta1.FinalizerDrain})
		})
	}
	owned := appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{render.Owner(nodesettest.NewNodeSet(1))}}}
	free := appsv1.ControllerRevision{}
	for _, tc := range []struct {
		name      string
		set       *v1beta1.NodeSet
		revisions []appsv1.ControllerRevision
		want      bool
	}{
		{"none that is not one", nodesettest.NewNodeSet(1), []appsv1.ControllerRevision{free}, false},
		{"in the background", deleted(), []appsv1.ControllerRevision{owned}, false},
		{"in the foreground", deleted(metav1.FinalizerDeleteDependents), []appsv1.ControllerRevision{free}, false},
		{"in the foreground, when all has gone", deleted(), nil, false},
		{"one that asks for it", deleted(metav1.FinalizerOrphanDependents), []appsv1.ControllerRevision{owned}, true},
		{"one that has asked for it", deleted(), []appsv1.ControllerRevision{free}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := isOrphaning(tc.set, tc.revisions); got != tc.want {
				t.Errorf("it is %t", got)
			}
		})
	}
}

func TestForeignOwnersOfAWorkerStay(t *testing.T) {
	foreign := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "uid-x"}
	old := render.Owner(nodesettest.NewNodeSet(1, func(n *v1beta1.NodeSet) { n.UID = "uid-before" }))
	s := newObservation(0, func(s *observation) { s.namespaceUID = "uid-namespace" })
	pod := nodesettest.NewWorkerPod(
		0, func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{old, foreign} })
	if got := missingOwnersOf(pod, s); got != (plan.MissingOwners{NodeSet: true, Namespace: true}) {
		t.Errorf("it lacks %+v", got)
	}
	pod.OwnerReferences = ownersOf(pod, s)
	if len(pod.OwnerReferences) != 3 || pod.OwnerReferences[0] != foreign ||
		missingOwnersOf(pod, s) != (plan.MissingOwners{}) {
		t.Errorf("its owners are %+v", pod.OwnerReferences)
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
	r.client = laggingClient{r.Client, before}
	r.pollAndReconcile()
	expectStrings(t, "the writes", r.writes)
	if pod := r.pod("gpu-0"); metav1.GetControllerOf(pod) != nil {
		t.Errorf("the pod's owners are %+v", pod.OwnerReferences)
	}
}

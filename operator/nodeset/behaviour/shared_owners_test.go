package behaviour

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
)

func (r *testEnv) sharedOwnerKinds() map[string][]string {
	r.t.Helper()
	out := map[string][]string{}
	for name, obj := range map[string]client.Object{
		names.WorkerService("slurm"): &corev1.Service{}, names.WorkerBudget("slurm"): &policyv1.PodDisruptionBudget{},
	} {
		r.must(r.Get(r.t.Context(), client.ObjectKey{Namespace: "slurm", Name: name}, obj))
		for _, owner := range obj.GetOwnerReferences() {
			out[name] = append(out[name], owner.Kind)
		}
	}
	return out
}

func (r *testEnv) expectSharedOwners(when string, kinds ...string) {
	r.t.Helper()
	want := map[string][]string{names.WorkerService("slurm"): kinds, names.WorkerBudget("slurm"): kinds}
	if diff := cmp.Diff(want, r.sharedOwnerKinds()); diff != "" {
		r.t.Errorf("%s: %s", when, diff)
	}
}

func TestSharedObjectsOutliveTheirControllerUntilTheLastWorkerIsGone(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, nodesettest.WithMaxReplicas(1)))
	r.startWorkers()
	r.expectSharedOwners("with workers", "Controller", "Namespace")
	r.slurm.Start(7, "gpu-0")
	r.must(r.Delete(t.Context(), r.nodeSet()))
	for range 3 {
		r.pollAndReconcile()
	}
	r.expectSharedOwners("while a job runs", "Controller", "Namespace")
	r.slurm.End(7)
	for range 4 {
		r.pollAndReconcile()
	}
	r.expectSharedOwners("after the last worker", "Controller")
}

func TestSharedObjectsGoWithTheLastNodeSetIfTheirControllerIsGone(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(0))
	r.pollAndReconcile()
	controller := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Namespace: "slurm", Name: "slurm"}}
	r.must(r.Delete(t.Context(), controller))
	for name, obj := range map[string]client.Object{
		names.WorkerService("slurm"): &corev1.Service{}, names.WorkerBudget("slurm"): &policyv1.PodDisruptionBudget{},
	} { // as the garbage collector does
		r.must(r.Get(t.Context(), client.ObjectKey{Namespace: "slurm", Name: name}, obj))
		obj.SetOwnerReferences(obj.GetOwnerReferences()[1:])
		r.must(r.Update(t.Context(), obj))
	}
	r.expectSharedOwners("without the Controller", "Namespace")
	r.must(r.Delete(t.Context(), r.nodeSet()))
	r.slurmMissing = true
	r.pollAndReconcile()
	r.expectSharedOwners("after the last NodeSet", "NodeSet")
}

func TestServicesOfOthersAreNotDeleted(t *testing.T) {
	service := render.Service("slurm", "slurm")
	service.UID = "uid-service"
	r := newTestEnv(t, nodesettest.NewNodeSet(0, func(n *v1beta1.NodeSet) {
		n.Spec.ControllerRef.Name = "absent"
		n.DeletionTimestamp, n.Finalizers = new(metav1.NewTime(nodesettest.Noon)), []string{v1beta1.FinalizerDrain}
	}), service)
	r.slurmMissing = true
	r.pollAndReconcile()
	got := &corev1.Service{}
	r.must(r.Get(t.Context(), client.ObjectKeyFromObject(service), got))
	if len(got.OwnerReferences) != 0 {
		t.Errorf("the owners are %v", got.OwnerReferences)
	}
}

func TestSharedObjectsStayWhileAnotherNodeSetUsesThem(t *testing.T) {
	other := nodesettest.NewNodeSet(0, func(n *v1beta1.NodeSet) { n.Name, n.UID = "cpu", "uid-cpu" })
	r := newTestEnv(t, nodesettest.NewNodeSet(1, nodesettest.WithMaxReplicas(1)), other)
	r.startWorkers()
	r.must(r.Delete(t.Context(), r.nodeSet()))
	for range 4 {
		r.pollAndReconcile()
	}
	r.expectSharedOwners("after one of two NodeSets", "Controller", "Namespace")
}

func TestOwnersOfSharedObjectsAreAdded(t *testing.T) {
	service, budget := render.Service("slurm", "slurm"), render.Budget("slurm", "slurm")
	service.UID, budget.UID = "uid-service", "uid-budget"
	r := newTestEnv(t, nodesettest.NewNodeSet(0), service, budget)
	r.reconcile()
	r.expectSharedOwners("objects of an earlier version", "Controller", "Namespace")
	r.writes = nil
	r.reconcile()
	expectStrings(t, "the writes once all is right", r.writes)
	if events := r.takeEvents(); len(events) != 0 {
		t.Errorf("the events are %q", events)
	}
}

package behaviour

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
)

func (r *testEnv) expectReady(want string) {
	r.t.Helper()
	got := meta.FindStatusCondition(r.nodeSet().Status.Conditions, v1beta1.ConditionReady)
	if got == nil || !strings.Contains(got.Reason+": "+got.Message, want) {
		r.t.Errorf("Ready = %+v, want %q", got, want)
	}
}

// TestANodeSetWithTheNameOfAWorker: slurmctld knows no Slurm node gpu-0 beside NodeSet gpu-0.
func TestANodeSetWithTheNameOfAWorker(t *testing.T) {
	other := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: "slurm", Name: "gpu-0", UID: "a"}}
	other.Spec.ControllerRef = &corev1.LocalObjectReference{Name: "slurm"}
	r := newTestEnv(t, nodesettest.NewNodeSet(2), other)
	r.startWorkers()
	for _, pod := range r.pods() {
		if pod.Name == "gpu-0" {
			t.Error("there is a worker gpu-0")
		}
	}
	if len(r.pods()) != 2 {
		t.Errorf("there are %d workers, want 2", len(r.pods()))
	}
	r.expectReady("Available: 2 of 2 workers are in service; no worker gpu-0 is created, because NodeSet gpu-0 has that name")
}

// TestOneReplicaBesideANodeSetOfItsName: also without a maximum it has another ordinal.
func TestOneReplicaBesideANodeSetOfItsName(t *testing.T) {
	other := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: "slurm", Name: "gpu-0", UID: "a"}}
	other.Spec.ControllerRef = &corev1.LocalObjectReference{Name: "slurm"}
	r := newTestEnv(t, nodesettest.NewNodeSet(1), other)
	for range 3 {
		r.startWorkers()
	}
	if got := r.podNames(); got != "gpu-1" {
		t.Errorf("pods = %q, want gpu-1", got)
	}
}

func TestSubmittableBesideANodeSetWithTheNameOfAWorker(t *testing.T) {
	other := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: "slurm", Name: "gpu-0", UID: "a"}}
	other.Spec.ControllerRef = &corev1.LocalObjectReference{Name: "slurm"}
	r := newTestEnv(t, nodesettest.NewNodeSet(0, nodesettest.WithMaxReplicas(4)), other)
	for range 3 {
		r.startWorkers()
	}
	r.expectCondition("Submittable", "True", "RecordsReady")
}

func TestNamesOfStaticNodesAreNotSubmittable(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(0, nodesettest.WithMaxReplicas(2)))
	for _, name := range []string{"gpu-0", "gpu-1"} {
		r.slurm.Nodes[name] = nodesettest.NewSlurmNode(name, "IDLE")
		r.slurm.Nodes[name].State.Flags = 0 // not dynamic
	}
	r.startWorkers()
	r.expectCondition("Submittable", "False", "RecordsMissing")
}

// TestANodeSetThatIsLeftOut has no worker, and its deletion ends.
func TestANodeSetThatIsLeftOut(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2))
	c := &v1beta1.Controller{}
	r.must(r.Get(t.Context(), client.ObjectKey{Namespace: "slurm", Name: "slurm"}, c))
	c.Spec.ExtraConf = "NodeName=gpu CPUs=4"
	r.must(r.Update(t.Context(), c))
	r.startWorkers()
	if len(r.pods()) > 0 {
		t.Errorf("there are %d workers", len(r.pods()))
	}
	r.expectReady("NameTaken: NodeSet gpu is left out of slurm.conf: a node of spec.extraConf has the name gpu")
	r.must(r.Delete(t.Context(), r.nodeSet()))
	r.pollAndReconcile()
	r.pollAndReconcile()
	if err := r.Get(t.Context(), request.NamespacedName, &v1beta1.NodeSet{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the NodeSet is left: %v", err)
	}
}

// TestAPodOfOthersWithTheNameOfAWorker: its end does not reconcile the NodeSet, so the creation is tried again.
func TestAPodOfOthersWithTheNameOfAWorker(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(2)))
	r.createObject(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "slurm", Name: "gpu-0"}})
	r.pollAndReconcile()
	if got := r.pollAndReconcile().RequeueAfter; got <= 0 || got > time.Minute {
		t.Errorf("the next attempt is in %s", got)
	}
	if told := strings.Join(r.takeEvents(), "\n"); !strings.Contains(told, "pod gpu-0 already exists and does not belong to this NodeSet") {
		t.Errorf("the events are %s", told)
	}
	r.must(r.Client.Delete(t.Context(), r.pod("gpu-0"), client.GracePeriodSeconds(0),
		client.Preconditions{UID: &r.pod("gpu-0").UID, ResourceVersion: &r.pod("gpu-0").ResourceVersion}))
	r.pollAndReconcile()
	if r.podNames() != "gpu-0 gpu-1" || r.pod("gpu-0").Labels[v1beta1.LabelPodHostname] != "gpu-0" {
		t.Errorf("pods = %q", r.podNames())
	}
}

// TestTwoNodeSetsOfOnePrefix: no two pods have one Slurm node name, from the first pod on.
func TestTwoNodeSetsOfOnePrefix(t *testing.T) {
	for _, withMax := range []bool{false, true} {
		change := []func(*v1beta1.NodeSet){func(n *v1beta1.NodeSet) { n.Spec.Template.Spec.Raw = []byte(`{"hostname": "n-"}`) }}
		if withMax {
			change = append(change, nodesettest.WithMaxReplicas(2))
		}
		other := nodesettest.NewNodeSet(1, change...)
		other.Name, other.UID = "cpu", "uid-cpu"
		r := newTestEnv(t, nodesettest.NewNodeSet(1, change...), other)
		for range 30 {
			r.pollAndReconcile()
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "slurm", Name: "cpu"}}); err != nil {
				t.Fatal(err)
			}
			if pods := r.podNames(); pods != "cpu-0" {
				t.Fatalf("with a maximum %v the pods are %q", withMax, pods)
			}
		}
		r.expectReady(map[bool]string{true: "Slurm nodes n-1 belong to NodeSet slurm/cpu", false: "a worker of NodeSet cpu has that name"}[withMax])
		r.must(r.Delete(t.Context(), r.nodeSet()))
		r.pollAndReconcile()
		r.pollAndReconcile()
		if err := r.Get(t.Context(), request.NamespacedName, &v1beta1.NodeSet{}); client.IgnoreNotFound(err) != nil || err == nil {
			t.Errorf("the NodeSet without workers is left: %v", err)
		}
	}
}

package nodeset

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
)

func setPerKubeNode(n *v1beta1.NodeSet) {
	n.Spec.ScalingMode = v1beta1.ScalingModeDaemonSet
	n.Spec.Template.Spec.Raw = []byte(`{"nodeSelector": {"gpu": "yes"}}`)
}

func TestOneWorkerOnEachKubernetesNodeThatFits(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, setPerKubeNode))
	label := func(name, value string) {
		n := &corev1.Node{}
		r.must(r.Get(t.Context(), client.ObjectKey{Name: name}, n))
		n.Labels["gpu"] = value
		r.must(r.Update(t.Context(), n))
	}
	label("kube-2", "yes")
	label("kube-5", "yes")
	r.startWorkers()
	workers := func() string {
		var out []string
		for _, p := range r.pods() {
			out = append(out, observed.SlurmName(p)+" on "+observed.RequiredKubeNode(p))
		}
		return strings.Join(out, ", ")
	}
	if got := workers(); got != "kube-2 on kube-2, kube-5 on kube-5" {
		t.Fatalf("the workers are %q", got)
	}
	if status := r.nodeSet().Status; status.Desired != 2 || status.Replicas != 2 {
		t.Errorf("the status is %+v", status)
	}
	r.slurm.start(7, "kube-2")
	label("kube-2", "no")
	label("kube-5", "no")
	for range 4 {
		r.pollAndReconcile()
	}
	if got := workers(); got != "kube-2 on kube-2" {
		t.Errorf("the workers are %q", got)
	}
	r.slurm.end(7)
	for range 3 {
		r.pollAndReconcile()
	}
	if got := workers(); got != "" {
		t.Errorf("the workers are %q", got)
	}
}

func TestPinnedWorkersComeBackWhereTheyWere(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, func(n *v1beta1.NodeSet) { n.Spec.PinToNode = true }))
	r.startWorkers()
	if diff := cmp.Diff(map[string]string{"0": "kube-0"}, r.nodeSet().Status.OrdinalToNode); diff != "" {
		t.Fatal(diff)
	}
	r.must(r.Client.Delete(t.Context(), r.pod("gpu-0"),
		client.Preconditions{UID: &r.pod("gpu-0").UID, ResourceVersion: &r.pod("gpu-0").ResourceVersion}))
	r.pollAndReconcile()
	if got := observed.RequiredKubeNode(r.pod("gpu-0")); got != "kube-0" {
		t.Errorf("it is pinned to %q", got)
	}
	r.must(r.Delete(t.Context(), nodesettest.NewKubeNode("kube-0")))
	r.pollAndReconcile()
	if got := r.nodeSet().Status.OrdinalToNode; len(got) != 0 {
		t.Errorf("the pins are %v", got)
	}
}

func TestClaimsThatAreThereAreTaken(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-gpu-0", Namespace: "slurm"}}
	r := newTestEnv(t, nodesettest.NewNodeSet(1, setClaims), claim)
	r.reconcile()
	if r.podNames() != "gpu-0" {
		t.Errorf("the pods are %q", r.podNames())
	}
}

func TestAWorkerWhoseSlurmNodeWentDownIsPutBackIntoService(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.startWorkers()
	r.slurm.nodes["gpu-0"] = nodesettest.NewSlurmNode("gpu-0", "DOWN")
	r.slurm.nodes["gpu-0"].Reason = v1beta1.DrainReasonPrefix + "its pod ended"
	r.pollAndReconcile()
	expectStrings(t, "the events", r.takeEvents(), "Normal Undrained worker gpu-0: its pod is Ready again")
	if got := r.slurm.nodes["gpu-0"].State.String(); got != "IDLE+DYNAMIC_NORM" {
		t.Errorf("it is %s", got)
	}
}

func TestDrainsOfOthersAreLeft(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.startWorkers()
	n := nodesettest.NewSlurmNode("gpu-0", "IDLE", "DRAIN")
	n.Reason, n.Comment = "bad fan", r.slurm.nodes["gpu-0"].Comment
	r.slurm.nodes["gpu-0"] = n
	for range 3 {
		r.pollAndReconcile()
	}
	expectStrings(t, "the calls", r.slurm.calls)
	r.expectCondition("Ready", "False", "Progressing")
	r.scale(0)
	for range 3 {
		r.pollAndReconcile()
	}
	expectStrings(t, "the calls", r.slurm.calls)
	if r.podNames() != "" || r.slurm.nodes["gpu-0"].Reason != "bad fan" {
		t.Errorf("the pods are %q, the reason %q", r.podNames(), r.slurm.nodes["gpu-0"].Reason)
	}
}

func TestTheFirstStatusHasWhatNoStatusIsValidWithout(t *testing.T) {
	from, to := nodesettest.NewNodeSet(1), nodesettest.NewNodeSet(1)
	from.ResourceVersion, to.ResourceVersion = "7", "7"
	from.Status = v1beta1.NodeSetStatus{ReadyReplicas: 2, OrdinalToNode: map[string]string{"0": "a", "1": "b"}}
	to.Status = v1beta1.NodeSetStatus{Replicas: 1, OrdinalToNode: map[string]string{"1": "b"}}
	data, err := kube.StatusPatch(from, to, requiredFields(to))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"metadata": map[string]any{"resourceVersion": "7"},
		"status": map[string]any{"selector": "", "nodeSetHash": "", "ordinalToNode": map[string]any{"0": nil},
			// At zero people are to see 0, not nothing.
			"desired": 0., "replicas": 1., "updatedReplicas": 0., "readyReplicas": 0.},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheFinalizerGoesWithTheLastStatus(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(0))
	r.pollAndReconcile()
	r.pollAndReconcile()
	r.must(r.Delete(t.Context(), r.nodeSet()))
	r.clearWrites()
	r.pollAndReconcile()
	expectStrings(t, "the writes", r.writes, "patch status NodeSet gpu", "patch Service slurm-workers-slurm",
		"patch PodDisruptionBudget slurm-workers-pdb-slurm", "patch NodeSet gpu")
	if err := r.Get(t.Context(), request.NamespacedName, &v1beta1.NodeSet{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestManyWorkersAtATime is for the race detector.
func TestManyWorkersAtATime(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(10, nodesettest.WithMaxReplicas(10)))
	r.cfg.Parallel = 16
	r.startWorkers()
	for i := range 5 {
		r.slurm.start(uint32(i), fmt.Sprintf("gpu-%d", i))
	}
	r.scale(0)
	for range 3 {
		r.pollAndReconcile()
	}
	if got := r.podNames(); got != "gpu-0 gpu-1 gpu-2 gpu-3 gpu-4" {
		t.Errorf("the pods are %q", got)
	}
	for i := range 5 {
		r.slurm.end(uint32(i))
	}
	for range 3 {
		r.pollAndReconcile()
	}
	if got := r.podNames(); got != "" {
		t.Errorf("the pods are %q", got)
	}
}

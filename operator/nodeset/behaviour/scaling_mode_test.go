package behaviour

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
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
	r.slurm.Start(7, "kube-2")
	label("kube-2", "no")
	label("kube-5", "no")
	for range 4 {
		r.pollAndReconcile()
	}
	if got := workers(); got != "kube-2 on kube-2" {
		t.Errorf("the workers are %q", got)
	}
	r.slurm.End(7)
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
	r.slurm.Nodes["gpu-0"].State.Base = slurm.NodeDown // preStop
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
	r.slurm.Nodes["gpu-0"] = nodesettest.NewSlurmNode("gpu-0", "DOWN")
	r.slurm.Nodes["gpu-0"].Reason = v1beta1.DrainReasonPrefix + "its pod ended"
	r.pollAndReconcile()
	expectStrings(t, "the events", r.takeEvents(), "Normal Undrained worker gpu-0: its pod is Ready again")
	if got := r.slurm.Nodes["gpu-0"].State.String(); got != "IDLE+DYNAMIC_NORM" {
		t.Errorf("it is %s", got)
	}
}

func TestDrainsOfOthersAreLeft(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.startWorkers()
	n := nodesettest.NewSlurmNode("gpu-0", "IDLE", "DRAIN")
	n.Reason, n.Comment = "bad fan", r.slurm.Nodes["gpu-0"].Comment
	r.slurm.Nodes["gpu-0"] = n
	for range 3 {
		r.pollAndReconcile()
	}
	expectStrings(t, "the calls", r.slurm.Calls)
	r.expectCondition("Ready", "False", "Progressing")
	r.scale(0)
	for range 3 {
		r.pollAndReconcile()
	}
	expectStrings(t, "the calls", r.slurm.Calls, "update gpu-0") // the pod leaves the comment
	if r.podNames() != "" || r.slurm.Nodes["gpu-0"].Reason != "bad fan" {
		t.Errorf("the pods are %q, the reason %q", r.podNames(), r.slurm.Nodes["gpu-0"].Reason)
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
	r.parallel = 16
	r.restart()
	r.startWorkers()
	for i := range 5 {
		r.slurm.Start(uint32(i), fmt.Sprintf("gpu-%d", i))
	}
	r.scale(0)
	for range 3 {
		r.pollAndReconcile()
	}
	if got := r.podNames(); got != "gpu-0 gpu-1 gpu-2 gpu-3 gpu-4" {
		t.Errorf("the pods are %q", got)
	}
	for i := range 5 {
		r.slurm.End(uint32(i))
	}
	for range 3 {
		r.pollAndReconcile()
	}
	if got := r.podNames(); got != "" {
		t.Errorf("the pods are %q", got)
	}
}

// TestAPendingWorkerWithHostNetworkBlocksNoOthers: the names of workers are not known before they are scheduled.
func TestAPendingWorkerWithHostNetworkBlocksNoOthers(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1,
		func(n *v1beta1.NodeSet) { n.Spec.Template.Spec.Raw = []byte(`{"hostNetwork": true}`) }))
	r.pollAndReconcile()
	r.scale(3)
	r.pollAndReconcile()
	if got := r.podNames(); got != "gpu-0 gpu-1 gpu-2" {
		t.Errorf("pods = %q while gpu-0 is Pending", got)
	}
}

// TestClaimsOfTheOtherScalingModeStopNoWorker: after a change of the scaling mode, a worker that waits for a Kubernetes node stays. It
// mounts a user's own claim, and claims can no longer be rendered for it.
func TestClaimsOfTheOtherScalingModeStopNoWorker(t *testing.T) {
	labelled := func(n *corev1.Node) { n.Labels = map[string]string{"x": "y"} }
	for _, to := range []v1beta1.ScalingMode{v1beta1.ScalingModeDaemonSet, v1beta1.ScalingModeStatefulSet} {
		t.Run(string(to), func(t *testing.T) {
			from := v1beta1.ScalingModeStatefulSet
			if to == from {
				from = v1beta1.ScalingModeDaemonSet
			}
			r := newTestEnv(t, nodesettest.NewNodeSet(1, setClaims, func(n *v1beta1.NodeSet) {
				n.Spec.ScalingMode, n.Spec.UpdateStrategy.Type = from, v1beta1.UpdateOnDelete
				n.Spec.Template.Spec.Raw = []byte(
					`{"volumes":[{"name":"home","persistentVolumeClaim":{"claimName":"home"}}],"nodeSelector":{"x":"y"}}`)
			}), nodesettest.NewKubeNode("one", labelled))
			r.pollAndReconcile()
			r.change(func(n *v1beta1.NodeSet) { n.Spec.ScalingMode, n.Spec.Replicas = to, new(int32(3)) })
			for range 20 {
				r.now = r.now.Add(30 * time.Second)
				r.pollAndReconcile()
			}
			before := len(r.pods())
			r.createObject(nodesettest.NewKubeNode("new", labelled))
			r.change(func(n *v1beta1.NodeSet) { n.Spec.Replicas = new(int32(4)) })
			r.now = r.now.Add(time.Minute)
			r.pollAndReconcile()
			if len(r.pods()) != before+1 {
				t.Errorf("the workers are still %s", r.podNames())
			}
		})
	}
}

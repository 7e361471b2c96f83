package behaviour

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
)

func expectStrings(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s are\n %q\nand not\n %q", what, got, want)
	}
}

func setClaims(n *v1beta1.NodeSet) {
	n.Spec.VolumeClaimTemplates = []v1beta1.VolumeClaimTemplate{{
		Metadata: v1beta1.Raw{Raw: []byte(`{"name": "data"}`)},
		Spec:     v1beta1.Raw{Raw: []byte(`{"accessModes": ["ReadWriteOnce"]}`)},
	}}
}

func TestMakingWorkers(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2, setClaims))
	r.reconcile()
	revision := r.nodeSet().Status.NodeSetHash
	expectStrings(t, "the writes", r.writes,
		"patch NodeSet gpu", "create Service slurm-workers-slurm", "create PodDisruptionBudget slurm-workers-pdb-slurm",
		"create ControllerRevision gpu-"+revision,
		"create PersistentVolumeClaim data-gpu-0", "create Pod gpu-0", "create PersistentVolumeClaim data-gpu-1",
		"create Pod gpu-1",
		"patch status NodeSet gpu")
	expectStrings(t, "the events", r.takeEvents(), "Normal SuccessfulCreate created worker gpu-0",
		"Normal SuccessfulCreate created worker gpu-1")
	if !kube.HasFinalizer(r.nodeSet(), v1beta1.FinalizerDrain) {
		t.Error("there is no finalizer")
	}
	pod := r.pod("gpu-1")
	if owner := metav1.GetControllerOf(pod); owner == nil || owner.UID != nodesettest.NodeSetUID ||
		revisionOf(pod) != revision {
		t.Errorf("the pod is %+v", pod.ObjectMeta)
	}
	r.expectCondition("Ready", "False", "Progressing")

	r.startWorkers()
	r.expectCondition("Ready", "True", "Available")
	status := r.nodeSet().Status
	if status.Replicas != 2 || status.ReadyReplicas != 2 || status.SlurmIdle != 2 || status.UnavailableReplicas != 0 {
		t.Errorf("the status is %+v", status)
	}
	pod = r.pod("gpu-1")
	if !strings.Contains(fmt.Sprint(pod.Status.Conditions), "SlurmNodeStateIdle") {
		t.Errorf("the pod shows %v", pod.Status.Conditions)
	}
	if got := r.slurm.Nodes["gpu-1"].Comment; !strings.Contains(
		got, `"podName":"gpu-1","node":"kube-1","nodeSetName":"gpu","nodeSetUID":"uid-gpu"`) {
		t.Errorf("the comment is %s", got)
	}
}

func TestNothingIsWrittenWhenNothingChanges(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  *v1beta1.NodeSet
		with func(*testEnv)
	}{
		{"with workers", nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(4)), func(*testEnv) {}},
		{"with none", nodesettest.NewNodeSet(0), func(*testEnv) {}},
		{"when counts went back to zero", nodesettest.NewNodeSet(2), func(r *testEnv) { r.scale(0) }},
		{"while work is waited for", nodesettest.NewNodeSet(2),
			func(r *testEnv) { r.slurm.Start(7, "gpu-0"); r.slurm.Start(8, "gpu-1"); r.scale(0) }},
		{"without Slurm", nodesettest.NewNodeSet(2), func(r *testEnv) { r.slurmMissing = true }},
		{"while Slurm fails", nodesettest.NewNodeSet(2),
			func(r *testEnv) { r.slurm.Latest.Snapshot.Jobs.Err = errors.New("no route") }},
		{"with a broken spec", nodesettest.NewNodeSet(2), func(r *testEnv) { r.change(breakSpec) }},
		{"with pins that fell", nodesettest.NewNodeSet(2, func(n *v1beta1.NodeSet) { n.Spec.PinToNode = true }),
			func(r *testEnv) {
				r.must(r.Delete(r.t.Context(), nodesettest.NewKubeNode("kube-1")))
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newTestEnv(t, tc.set)
			r.startWorkers()
			tc.with(r)
			for range 3 {
				r.pollAndReconcile()
			}
			r.clearWrites()
			for range 3 {
				r.reconcile()
			}
			expectStrings(t, "the writes", r.writes)
			expectStrings(t, "the calls", r.slurm.Calls)
			expectStrings(t, "the events", r.takeEvents())
		})
	}
}

func TestScaleIn(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2))
	r.startWorkers()
	r.slurm.Start(7, "gpu-0")
	r.scale(1)
	r.pollAndReconcile() // gpu-0 has work, so gpu-1 is removed
	expectStrings(t, "the calls", r.slurm.Calls, "drain gpu-1: slurm-operator: scale-in")
	expectStrings(t, "the events", r.takeEvents(), "Normal DrainStarted worker gpu-1: slurm-operator: scale-in")
	if note := observed.DrainMark(r.pod("gpu-1")); note.Cause != v1beta1.DrainCauseScaleIn || !note.Since.Equal(r.now) {
		t.Errorf("the note is %+v", note)
	}
	if r.expectCondition("Draining", "True", "WaitingForSlurm"); r.nodeSet().Status.DrainingReplicas != 1 {
		t.Errorf("the status is %+v", r.nodeSet().Status)
	}
	r.clearWrites()
	r.reconcile() // no reading shows the drain yet
	expectStrings(t, "the calls", r.slurm.Calls)
	if got := r.podNames(); got != "gpu-0 gpu-1" {
		t.Fatalf("the pods are %s", got)
	}
	r.pollAndReconcile()
	expectStrings(t, "the events", r.takeEvents(), "Normal Drained worker gpu-1: it is drained and has no job",
		"Normal SuccessfulDelete worker gpu-1: it is drained and has no job")
	if got := r.podNames(); got != "gpu-0" {
		t.Errorf("the pods are %s", got)
	}
	r.pollAndReconcile()
	expectStrings(t, "the calls", r.slurm.Calls, "delete gpu-1")
	r.pollAndReconcile()
	r.expectCondition("Ready", "True", "Available")
	r.expectCondition("Draining", "False", "NotDraining")
}

func TestWorkIsWaitedFor(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.startWorkers()
	r.slurm.Start(7, "gpu-0")
	r.pollAndReconcile()
	if pod := r.pod("gpu-0"); !observed.DrainMark(pod).Protect ||
		pod.Annotations[v1beta1.AnnotationSafeToEvict] != "false" {
		t.Errorf("a worker with work is not protected: %v", pod.ObjectMeta)
	}
	r.clearWrites()
	r.scale(0)
	for range 5 {
		r.pollAndReconcile()
	}
	expectStrings(t, "the events", r.takeEvents(), "Normal DrainStarted worker gpu-0: slurm-operator: scale-in",
		"Normal DrainWaiting worker gpu-0 is to be removed (ScaleIn) and waits: job 7 is running on it, until 2026-11-22T12:00:00Z at the latest")
	if c := r.expectCondition("Draining", "True", "WaitingForJobs"); !strings.Contains(c.Message, "job 7") {
		t.Errorf("it says %q", c.Message)
	}
	r.slurm.End(7)
	r.pollAndReconcile()
	if got := r.podNames(); got != "" {
		t.Errorf("the pods are %s", got)
	}
}

func TestAWorkerThatIsWantedAgainIsUndrained(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.startWorkers()
	r.slurm.Start(7, "gpu-0")
	r.scale(0)
	r.pollAndReconcile()
	r.pollAndReconcile()
	r.clearWrites()
	r.scale(1)
	r.pollAndReconcile()
	expectStrings(t, "the calls", r.slurm.Calls, "undrain gpu-0")
	expectStrings(t, "the events", r.takeEvents(), "Normal Undrained worker gpu-0: its drain is no longer needed")
	if pod := r.pod("gpu-0"); observed.DrainMark(pod).Cause != "" {
		t.Errorf("it still is noted to go: %v", pod.Annotations)
	}
	r.slurm.End(7)
	r.pollAndReconcile()
	r.pollAndReconcile()
	r.expectCondition("Ready", "True", "Available")
	if got := r.podNames(); got != "gpu-0" {
		t.Errorf("the pods are %s", got)
	}
}

func TestDeletingANodeSet(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(4)))
	r.startWorkers()
	r.slurm.Start(7, "gpu-0")
	r.must(r.Delete(t.Context(), r.nodeSet()))
	for range 4 {
		r.pollAndReconcile()
	}
	if got := r.podNames(); got != "gpu-0" {
		t.Fatalf("the pods are %s", got)
	}
	r.expectCondition("Draining", "True", "WaitingForJobs")
	r.slurm.End(7)
	for range 4 {
		r.pollAndReconcile()
	}
	if err := r.Get(t.Context(), request.NamespacedName, &v1beta1.NodeSet{}); !apierrors.IsNotFound(err) {
		t.Errorf("the NodeSet is not gone: %v", err)
	}
	if r.podNames() != "" || len(r.slurm.Nodes) != 0 {
		t.Errorf("there are pods %q and records %v", r.podNames(), r.slurm.Nodes)
	}
	if result := r.pollAndReconcile(); result != (ctrl.Result{}) {
		t.Errorf("it looks again: %+v", result)
	}
	if r.Remembers(request.NamespacedName) {
		t.Error("it is remembered")
	}
}

func TestPoliciesOfDeletion(t *testing.T) {
	for _, tc := range []struct {
		policy v1beta1.DrainPolicy
		turns  int
	}{
		{v1beta1.DrainPolicy{Type: v1beta1.DrainForce}, 1},
		{v1beta1.DrainPolicy{Type: v1beta1.DrainTimeout, Timeout: &metav1.Duration{Duration: 35 * time.Second}}, 6}, // the drain shows in the second
	} {
		t.Run(string(tc.policy.Type), func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(1, nodesettest.WithDrainPolicy(tc.policy)))
			r.startWorkers()
			r.slurm.Start(7, "gpu-0")
			r.must(r.Delete(t.Context(), r.nodeSet()))
			turns := 0
			for ; r.podNames() != "" && turns < 10; turns++ {
				r.pollAndReconcile()
			}
			if turns != tc.turns {
				t.Errorf("it took %d turns, not %d", turns, tc.turns)
			}
		})
	}
}

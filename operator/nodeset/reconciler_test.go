package nodeset

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
)

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s are\n %q\nand not\n %q", what, got, want)
	}
}

func claims(n *v1beta1.NodeSet) {
	n.Spec.VolumeClaimTemplates = []v1beta1.VolumeClaimTemplate{{
		Metadata: v1beta1.Raw{Raw: []byte(`{"name": "data"}`)}, Spec: v1beta1.Raw{Raw: []byte(`{"accessModes": ["ReadWriteOnce"]}`)},
	}}
}

func TestMakingWorkers(t *testing.T) {
	r := newRig(t, gpu(2, claims))
	r.reconcile()
	revision := r.nodeSet().Status.NodeSetHash
	expect(t, "the writes", r.writes,
		"patch NodeSet gpu", "create Service slurm-workers-slurm", "create PodDisruptionBudget slurm-workers-pdb-slurm",
		"create ControllerRevision gpu-"+revision,
		"create PersistentVolumeClaim data-gpu-0", "create Pod gpu-0", "create PersistentVolumeClaim data-gpu-1", "create Pod gpu-1",
		"patch status NodeSet gpu")
	expect(t, "the events", r.told(), "Normal SuccessfulCreate created worker gpu-0", "Normal SuccessfulCreate created worker gpu-1")
	if !held(r.nodeSet()) {
		t.Error("there is no finalizer")
	}
	pod := r.pod("gpu-1")
	if owner := metav1.GetControllerOf(pod); owner == nil || owner.UID != nodeSetUID || revisionOf(pod) != revision {
		t.Errorf("the pod is %+v", pod.ObjectMeta)
	}
	r.has("Ready", "False", "Progressing")

	r.serve()
	r.has("Ready", "True", "Available")
	status := r.nodeSet().Status
	if status.Replicas != 2 || status.ReadyReplicas != 2 || status.SlurmIdle != 2 || status.UnavailableReplicas != 0 {
		t.Errorf("the status is %+v", status)
	}
	pod = r.pod("gpu-1")
	if !strings.Contains(fmt.Sprint(pod.Status.Conditions), "SlurmNodeStateIdle") {
		t.Errorf("the pod shows %v", pod.Status.Conditions)
	}
	if got := r.slurm.nodes["gpu-1"].Comment; !strings.Contains(got, `"podName":"gpu-1","node":"kube-1","nodeSetName":"gpu","nodeSetUID":"uid-gpu"`) {
		t.Errorf("the comment is %s", got)
	}
}

func TestNothingIsWrittenWhenNothingChanges(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  *v1beta1.NodeSet
		with func(*rig)
	}{
		{"with workers", gpu(2, most(4)), func(*rig) {}},
		{"with none", gpu(0), func(*rig) {}},
		{"when counts went back to zero", gpu(2), func(r *rig) { r.scale(0) }},
		{"while work is waited for", gpu(2), func(r *rig) { r.slurm.start(7, "gpu-0"); r.slurm.start(8, "gpu-1"); r.scale(0) }},
		{"without Slurm", gpu(2), func(r *rig) { r.noSlurm = true }},
		{"while Slurm fails", gpu(2), func(r *rig) { r.slurm.latest.Snapshot.Jobs.Err = errors.New("no route") }},
		{"with a broken spec", gpu(2), func(r *rig) { r.change(broken) }},
		{"with pins that fell", gpu(2, func(n *v1beta1.NodeSet) { n.Spec.PinToNode = true }), func(r *rig) {
			r.must(r.Delete(r.t.Context(), kubeNode("kube-1")))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, tc.set)
			r.serve()
			tc.with(r)
			for range 3 {
				r.turn()
			}
			r.forget()
			for range 3 {
				r.reconcile()
			}
			expect(t, "the writes", r.writes)
			expect(t, "the calls", r.slurm.calls)
			expect(t, "the events", r.told())
		})
	}
}

func TestScaleIn(t *testing.T) {
	r := newRig(t, gpu(2))
	r.serve()
	r.slurm.start(7, "gpu-0")
	r.scale(1)
	r.turn() // gpu-0 has work: gpu-1 goes
	expect(t, "the calls", r.slurm.calls, "drain gpu-1: slurm-operator: scale-in")
	expect(t, "the events", r.told(), "Normal DrainStarted worker gpu-1: slurm-operator: scale-in")
	if note := noteOf(r.pod("gpu-1")); note.Cause != v1beta1.CauseScaleIn || !note.Since.Equal(r.now) {
		t.Errorf("the note is %+v", note)
	}
	if r.has("Draining", "True", "WaitingForSlurm"); r.nodeSet().Status.DrainingReplicas != 1 {
		t.Errorf("the status is %+v", r.nodeSet().Status)
	}
	r.forget()
	r.reconcile() // no reading shows the drain yet
	expect(t, "the calls", r.slurm.calls)
	if got := r.names(); got != "gpu-0 gpu-1" {
		t.Fatalf("the pods are %s", got)
	}
	r.turn()
	expect(t, "the events", r.told(), "Normal Drained worker gpu-1: it is drained and has no job", "Normal SuccessfulDelete worker gpu-1: it is drained and has no job")
	if got := r.names(); got != "gpu-0" {
		t.Errorf("the pods are %s", got)
	}
	r.turn()
	expect(t, "the calls", r.slurm.calls, "delete gpu-1")
	r.turn()
	r.has("Ready", "True", "Available")
	r.has("Draining", "False", "NotDraining")
}

func TestWorkIsWaitedFor(t *testing.T) {
	r := newRig(t, gpu(1))
	r.serve()
	r.slurm.start(7, "gpu-0")
	r.turn()
	if pod := r.pod("gpu-0"); !noteOf(pod).Protect || pod.Annotations[v1beta1.AnnotationSafeToEvict] != "false" {
		t.Errorf("a worker with work is not protected: %v", pod.ObjectMeta)
	}
	r.forget()
	r.scale(0)
	for range 5 {
		r.turn()
	}
	expect(t, "the events", r.told(), "Normal DrainStarted worker gpu-0: slurm-operator: scale-in",
		"Normal DrainWaiting worker gpu-0 is to be removed (ScaleIn) and waits: job 7 is running on it, until 2026-11-22T12:00:00Z at the latest")
	if c := r.has("Draining", "True", "WaitingForJobs"); !strings.Contains(c.Message, "job 7") {
		t.Errorf("it says %q", c.Message)
	}
	r.slurm.end(7)
	r.turn()
	if got := r.names(); got != "" {
		t.Errorf("the pods are %s", got)
	}
}

func TestAWorkerThatIsWantedAgainIsUndrained(t *testing.T) {
	r := newRig(t, gpu(1))
	r.serve()
	r.slurm.start(7, "gpu-0")
	r.scale(0)
	r.turn()
	r.turn()
	r.forget()
	r.scale(1)
	r.turn()
	expect(t, "the calls", r.slurm.calls, "undrain gpu-0")
	expect(t, "the events", r.told(), "Normal Undrained worker gpu-0: its drain is no longer needed")
	if pod := r.pod("gpu-0"); noteOf(pod).Cause != "" {
		t.Errorf("it still is noted to go: %v", pod.Annotations)
	}
	r.slurm.end(7)
	r.turn()
	r.turn()
	r.has("Ready", "True", "Available")
	if got := r.names(); got != "gpu-0" {
		t.Errorf("the pods are %s", got)
	}
}

func TestDeletingANodeSet(t *testing.T) {
	r := newRig(t, gpu(2, most(4)))
	r.serve()
	r.slurm.start(7, "gpu-0")
	r.must(r.Delete(t.Context(), r.nodeSet()))
	for range 4 {
		r.turn()
	}
	if got := r.names(); got != "gpu-0" {
		t.Fatalf("the pods are %s", got)
	}
	r.has("Draining", "True", "WaitingForJobs")
	r.slurm.end(7)
	for range 4 {
		r.turn()
	}
	if err := r.Get(t.Context(), request.NamespacedName, &v1beta1.NodeSet{}); !apierrors.IsNotFound(err) {
		t.Errorf("the NodeSet is not gone: %v", err)
	}
	if r.names() != "" || len(r.slurm.nodes) != 0 {
		t.Errorf("there are pods %q and records %v", r.names(), r.slurm.nodes)
	}
	if result := r.turn(); result != (ctrl.Result{}) {
		t.Errorf("it looks again: %+v", result)
	}
	if len(r.memory.sets) != 0 {
		t.Error("it is remembered")
	}
}

func TestPoliciesOfDeletion(t *testing.T) {
	for _, tc := range []struct {
		policy v1beta1.DrainPolicy
		turns  int
	}{
		{v1beta1.DrainPolicy{Type: v1beta1.DrainForce}, 1},
		{v1beta1.DrainPolicy{Type: v1beta1.DrainTimeout, Timeout: &metav1.Duration{Duration: 35 * time.Second}}, 5},
	} {
		t.Run(string(tc.policy.Type), func(t *testing.T) {
			r := newRig(t, gpu(1, policy(tc.policy)))
			r.serve()
			r.slurm.start(7, "gpu-0")
			r.must(r.Delete(t.Context(), r.nodeSet()))
			turns := 0
			for ; r.names() != "" && turns < 10; turns++ {
				r.turn()
			}
			if turns != tc.turns {
				t.Errorf("it took %d turns, not %d", turns, tc.turns)
			}
		})
	}
}

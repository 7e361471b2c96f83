package nodeset

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
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
	expect(t, "the events", r.told(), "Normal SuccessfulDelete worker gpu-1: it is drained and has no job")
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
		"Normal DrainWaiting worker gpu-0 is to go (ScaleIn) and waits: job 7 is running on it, until 2026-11-22T12:00:00Z at the latest")
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
	expect(t, "the events", r.told(), "Normal Undrained worker gpu-0: nothing asks for its drain any more")
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

func TestTheLastLookKeepsAPod(t *testing.T) {
	for name, meanwhile := range map[string]func(*rig){
		"when it fails":              func(r *rig) { r.slurm.fail["look gpu-0"] = errors.New("no answer") },
		"when a job started":         func(r *rig) { r.slurm.start(7, "gpu-0") },
		"when somebody undrained it": func(r *rig) { r.slurm.nodes["gpu-0"].State.Flags &^= slurm.NodeDrain },
		"when the record is gone":    func(r *rig) { delete(r.slurm.nodes, "gpu-0") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, gpu(1))
			r.serve()
			r.scale(0)
			r.turn()
			r.now = r.now.Add(10 * time.Second)
			r.slurm.poll()
			meanwhile(r)
			result, err := r.Reconcile(t.Context(), request)
			if got := r.names(); got != "gpu-0" {
				t.Errorf("the pods are %q", got)
			}
			if failed := name == "when it fails"; (err != nil) != failed || !failed && result.RequeueAfter != afterLook {
				t.Errorf("it is %+v, %v", result, err)
			}
		})
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

func TestRecordsOfWorkersToCome(t *testing.T) {
	r := newRig(t, gpu(0, most(3)))
	r.reconcile()
	expect(t, "the calls", r.slurm.calls, "create gpu-[0-2] Feature=gpu CPUs=4 State=FUTURE", "update gpu-[0-2]")
	r.turn()
	r.has("Submittable", "True", "RecordsReady")
	if got := r.slurm.nodes["gpu-2"].Comment; !strings.Contains(got, nodeSetUID) {
		t.Errorf("the comment is %q", got)
	}
	r.forget()
	r.change(most(1))
	r.turn()
	expect(t, "the calls", r.slurm.calls, "delete gpu-1", "delete gpu-2")
}

func TestRecordsThatCannotBeMade(t *testing.T) {
	r := newRig(t, gpu(1, most(2)))
	r.serve()
	r.slurm.fail["create"] = errors.New("no such operation")
	r.change(most(3))
	r.turn()
	if c := r.has("Submittable", "False", "RecordsMissing"); c.Message != "making records of gpu-2: no such operation" {
		t.Errorf("it says %q", c.Message)
	}
	delete(r.slurm.fail, "create")
	r.forget()
	r.turn()
	expect(t, "the calls before a minute has passed", r.slurm.calls)
	r.has("Submittable", "False", "RecordsMissing")
	r.now = r.now.Add(recordsRetry)
	r.turn()
	expect(t, "the calls", r.slurm.calls, "create gpu-2 Feature=gpu CPUs=4 State=FUTURE", "update gpu-2")
	r.turn()
	r.has("Submittable", "True", "RecordsReady")
}

func TestConflictsAreNoErrors(t *testing.T) {
	conflict := apierrors.NewConflict(v1beta1.Resource("nodesets"), "gpu", errors.New("it has changed"))
	for _, words := range []string{"patch NodeSet gpu", "patch status NodeSet gpu", "patch Pod gpu-0", "delete Pod gpu-0"} {
		t.Run(words, func(t *testing.T) {
			r := newRig(t, gpu(1))
			met := false
			if words != "patch NodeSet gpu" {
				r.serve()
				r.scale(0)
			}
			r.fail[words] = conflict
			for range 4 {
				r.now = r.now.Add(10 * time.Second)
				r.slurm.poll()
				if result := r.reconcile(); result.RequeueAfter == afterConflict {
					met = true
					delete(r.fail, words)
				}
			}
			if !met {
				t.Error("there was none")
			}
			if want := map[bool]string{true: "gpu-0"}[words == "patch NodeSet gpu"]; r.names() != want {
				t.Errorf("the pods are %q", r.names())
			}
		})
	}
}

func TestAWorkersFailureKeepsNoOtherFromItsWrites(t *testing.T) {
	no := errors.New("quota")
	for _, tc := range []struct {
		name string
		with func(*rig)
		want string
	}{
		{"when a pod cannot be created", func(r *rig) { r.fail["create Pod gpu-2"] = no; r.scale(5) }, "gpu-0 gpu-1 gpu-3 gpu-4"},
		{"when a pod cannot be deleted", func(r *rig) { r.fail["delete Pod gpu-0"] = no; r.scale(0) }, "gpu-0"},
		{"when a pod cannot be noted on", func(r *rig) { r.fail["patch Pod gpu-0"] = no; r.scale(0) }, "gpu-0"},
		{"when a Slurm node cannot be drained", func(r *rig) { r.slurm.fail["drain gpu-1"] = no; r.scale(0) }, "gpu-1"},
		{"when a Slurm node cannot be looked at", func(r *rig) { r.slurm.fail["look gpu-1"] = no; r.scale(0) }, "gpu-1"},
		{"when Slurm cannot be told of it", func(r *rig) { r.slurm.fail["update gpu-1"] = no; r.slurm.nodes["gpu-1"].Comment = ""; r.scale(0) }, ""},
		{"when its state cannot be shown", func(r *rig) {
			r.fail["patch status Pod gpu-0"] = no
			r.slurm.nodes["gpu-0"].State.Flags |= slurm.NodePlanned
			r.scale(1)
		}, "gpu-0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, gpu(2))
			r.serve()
			tc.with(r)
			failed := false
			for range 3 {
				r.now = r.now.Add(10 * time.Second)
				r.slurm.poll()
				_, err := r.Reconcile(t.Context(), request)
				failed = failed || err != nil
			}
			if !failed || r.names() != tc.want {
				t.Errorf("failed is %t, the pods are %q", failed, r.names())
			}
			if c := r.nodeSet().Status; c.ObservedGeneration != r.nodeSet().Generation {
				t.Error("the status is not told")
			}
		})
	}
}

func TestAFailureToCreateIsAnEvent(t *testing.T) {
	r := newRig(t, gpu(1))
	r.fail["create Pod gpu-0"] = errors.New("quota")
	if _, err := r.Reconcile(t.Context(), request); err == nil {
		t.Error("it is no error")
	}
	expect(t, "the events", r.told(), "Warning FailedCreate creating pod gpu-0: quota")
}

func TestWorkersWithoutNamesDoNotWaitForEachOther(t *testing.T) {
	r := newRig(t, gpu(2, func(n *v1beta1.NodeSet) { n.Spec.Template.Spec.Raw = []byte(`{"hostNetwork": true}`) }))
	r.fail["create Pod gpu-0"] = errors.New("quota")
	if _, err := r.Reconcile(t.Context(), request); err == nil || r.names() != "gpu-1" {
		t.Errorf("it is %v, the pods are %q", err, r.names())
	}
}

func TestUpdatingWorkers(t *testing.T) {
	r := newRig(t, gpu(2, func(n *v1beta1.NodeSet) { n.Spec.RevisionHistoryLimit = 1 }))
	r.serve()
	first := r.nodeSet().Status.NodeSetHash
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "Weight=2" })
	r.turn()
	second := r.nodeSet().Status.NodeSetHash
	r.has("Updated", "False", "Updating")
	least := 2
	for range 12 {
		r.turn()
		least = min(least, len(r.pods()))
		r.kubelet()
	}
	for _, p := range r.pods() {
		if revisionOf(p) != second || first == second {
			t.Errorf("%s is of revision %s", p.Name, revisionOf(p))
		}
	}
	if least != 1 || r.names() != "gpu-0 gpu-1" {
		t.Errorf("there were %d pods, there are %s", least, r.names())
	}
	r.has("Updated", "True", "UpToDate")
}

func TestOldRevisionsAreKeptUpToTheLimit(t *testing.T) {
	paused := func(n *v1beta1.NodeSet) { n.Spec.RevisionHistoryLimit, n.Spec.UpdateStrategy.Paused = 2, true }
	r := newRig(t, gpu(1, paused))
	r.serve()
	hashes := []string{r.nodeSet().Status.NodeSetHash}
	for i := range 5 {
		r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = fmt.Sprintf("Weight=%d", i+2) })
		r.turn()
		hashes = append(hashes, r.nodeSet().Status.NodeSetHash)
	}
	r.turn()
	list := &appsv1.ControllerRevisionList{}
	r.must(r.List(t.Context(), list))
	kept := map[string]int64{}
	for _, rev := range list.Items {
		kept[rev.Name] = rev.Revision
	}
	// That of the worker, the newest, and two of those between.
	want := map[string]int64{"gpu-" + hashes[0]: 1, "gpu-" + hashes[3]: 4, "gpu-" + hashes[4]: 5, "gpu-" + hashes[5]: 6}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Error(diff)
	}
}

func TestChildrenOfOthersAreLeftAsTheyAre(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "slurm-workers-slurm", Namespace: "slurm", Labels: map[string]string{"mine": "yes"}}}
	r := newRig(t, gpu(0, func(n *v1beta1.NodeSet) { n.Spec.WorkloadDisruptionProtection = new(false) }), service)
	r.reconcile()
	got := &corev1.Service{}
	r.must(r.Get(t.Context(), client.ObjectKeyFromObject(service), got))
	if got.Labels["mine"] != "yes" {
		t.Error("the Service was changed")
	}
	budgets := &policyv1.PodDisruptionBudgetList{}
	r.must(r.List(t.Context(), budgets))
	if len(budgets.Items) != 0 {
		t.Error("there is a budget that nobody asked for")
	}
}

func TestFeaturesAndTopologyOfKubernetesNodes(t *testing.T) {
	r := newRig(t, gpu(1))
	r.serve()
	n := kubeNode("kube-0")
	r.must(r.Get(t.Context(), client.ObjectKeyFromObject(n), n))
	n.Annotations = map[string]string{v1beta1.AnnotationFeatures: "ssd, rack1,ssd", v1beta1.AnnotationTopology: "topo:b0"}
	r.must(r.Update(t.Context(), n))
	r.slurm.nodes["gpu-0"].Features = []string{"gpu", "k8s/old"}
	r.slurm.fail["topology"] = &slurmclient.Error{Code: slurmclient.CodeUnsupported}
	r.turn()
	got := r.slurm.nodes["gpu-0"]
	expect(t, "the features", got.Features, "gpu", "k8s/rack1", "k8s/ssd")
	delete(r.slurm.fail, "topology")
	r.turn()
	if got.Topology != "topo:b0" {
		t.Errorf("the topology is %q", got.Topology)
	}
	r.forget()
	r.turn()
	expect(t, "the calls", r.slurm.calls)
}

func TestWithoutAFreshReadingNothingIsShown(t *testing.T) {
	r := newRig(t, gpu(1))
	r.serve()
	r.slurm.start(7, "gpu-0")
	r.slurm.poll()
	r.now = r.now.Add(time.Hour)
	r.reconcile()
	r.has("Ready", "Unknown", "NotObserved")
	expect(t, "the writes", r.writes, "patch status NodeSet gpu")
}

func TestWritesAreNotForgottenForAReadingThatCameMeanwhile(t *testing.T) {
	r := newRig(t, gpu(1))
	r.serve()
	r.scale(0)
	slow := r.now.Add(10 * time.Second)
	r.slurm.before = func() error { // the write takes a while, in which Slurm is read
		r.now = slow.Add(5 * time.Second)
		r.slurm.poll()
		r.now = slow.Add(9 * time.Second)
		return nil
	}
	r.turn()
	r.slurm.before = func() error { return nil }
	r.forget()
	r.reconcile()
	expect(t, "the calls", r.slurm.calls)
}

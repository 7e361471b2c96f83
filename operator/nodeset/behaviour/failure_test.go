package behaviour

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestTheLastLookKeepsAPod(t *testing.T) {
	for name, meanwhile := range map[string]func(*testEnv){
		"when it fails":              func(r *testEnv) { r.slurm.Fail["look gpu-0"] = errors.New("no answer") },
		"when a job started":         func(r *testEnv) { r.slurm.Start(7, "gpu-0") },
		"when somebody undrained it": func(r *testEnv) { r.slurm.Nodes["gpu-0"].State.Flags &^= slurm.NodeDrain },
		"when the record is gone":    func(r *testEnv) { delete(r.slurm.Nodes, "gpu-0") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(1))
			r.startWorkers()
			r.scale(0)
			r.pollAndReconcile()
			r.now = r.now.Add(10 * time.Second)
			r.slurm.Poll()
			meanwhile(r)
			result, err := r.Reconcile(t.Context(), request)
			if got := r.podNames(); got != "gpu-0" {
				t.Errorf("the pods are %q", got)
			}
			if failed := name == "when it fails"; (err != nil) != failed || !failed &&
				result.RequeueAfter != 5*time.Second {
				t.Errorf("it is %+v, %v", result, err)
			}
		})
	}
}

func TestRecordsThatCannotBeMade(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, nodesettest.WithMaxReplicas(2)))
	r.startWorkers()
	r.slurm.Fail["create"] = errors.New("no such operation")
	r.change(nodesettest.WithMaxReplicas(3))
	r.pollAndReconcile()
	if c := r.expectCondition("Submittable", "False",
		"RecordsMissing"); c.Message != "creating records of gpu-2: no such operation" {
		t.Errorf("it says %q", c.Message)
	}
	const create = "create gpu-2 Feature=gpu CPUs=4 State=FUTURE"
	tries, before := 0, r.slurm.Before
	r.slurm.Before = func() error { tries++; return before() }
	begin := r.now
	for r.now.Sub(begin) < 5*time.Minute {
		r.now = r.now.Add(time.Second)
		r.pollAndReconcile()
	}
	if tries < 4 || tries > 8 {
		t.Errorf("%d tries within five minutes", tries)
	}
	r.expectCondition("Submittable", "False", "RecordsMissing")
	delete(r.slurm.Fail, "create")
	r.clearWrites()
	r.now = r.now.Add(time.Minute)
	r.pollAndReconcile()
	expectStrings(t, "the calls", r.slurm.Calls, create, "update gpu-2")
	r.pollAndReconcile()
	r.expectCondition("Submittable", "True", "RecordsReady")
}

func TestConflictsAreNoErrors(t *testing.T) {
	conflict := apierrors.NewConflict(v1beta1.Resource("nodesets"), "gpu", errors.New("it has changed"))
	for _, words := range []string{"patch NodeSet gpu", "patch status NodeSet gpu", "patch Pod gpu-0",
		"delete Pod gpu-0"} {
		t.Run(words, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(1))
			met := false
			if words != "patch NodeSet gpu" {
				r.startWorkers()
				r.scale(0)
			}
			r.fail[words] = conflict
			for range 4 {
				r.now = r.now.Add(10 * time.Second)
				r.slurm.Poll()
				if result := r.reconcile(); result.RequeueAfter == kube.ConflictRetryDelay {
					met = true
					delete(r.fail, words)
				}
			}
			if !met {
				t.Error("there was none")
			}
			if want := map[bool]string{true: "gpu-0"}[words == "patch NodeSet gpu"]; r.podNames() != want {
				t.Errorf("the pods are %q", r.podNames())
			}
		})
	}
}

func TestAWorkersFailureKeepsNoOtherFromItsWrites(t *testing.T) {
	no := errors.New("quota")
	for _, tc := range []struct {
		name string
		with func(*testEnv)
		want string
	}{
		{"when a pod cannot be created", func(r *testEnv) { r.fail["create Pod gpu-2"] = no; r.scale(5) },
			"gpu-0 gpu-1 gpu-3 gpu-4"},
		{"when a pod cannot be deleted", func(r *testEnv) { r.fail["delete Pod gpu-0"] = no; r.scale(0) }, "gpu-0"},
		{"when a pod cannot be noted on", func(r *testEnv) { r.fail["patch Pod gpu-0"] = no; r.scale(0) }, "gpu-0"},
		{"when a Slurm node cannot be drained", func(r *testEnv) { r.slurm.Fail["drain gpu-1"] = no; r.scale(0) },
			"gpu-1"},
		{"when a Slurm node cannot be looked at", func(r *testEnv) { r.slurm.Fail["look gpu-1"] = no; r.scale(0) },
			"gpu-1"},
		{"when the comment cannot be written to Slurm",
			func(r *testEnv) { r.slurm.Fail["update gpu-1"] = no; r.slurm.Nodes["gpu-1"].Comment = ""; r.scale(0) },
			""},
		{"when its state cannot be shown", func(r *testEnv) {
			r.fail["patch status Pod gpu-0"] = no
			r.slurm.Nodes["gpu-0"].State.Flags |= slurm.NodePlanned
			r.scale(1)
		}, "gpu-0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(2))
			r.startWorkers()
			tc.with(r)
			failed := false
			for range 3 {
				r.now = r.now.Add(10 * time.Second)
				r.slurm.Poll()
				_, err := r.Reconcile(t.Context(), request)
				failed = failed || err != nil
			}
			if !failed || r.podNames() != tc.want {
				t.Errorf("failed is %t, the pods are %q", failed, r.podNames())
			}
			if c := r.nodeSet().Status; c.ObservedGeneration != r.nodeSet().Generation {
				t.Error("the status is not told")
			}
		})
	}
}

func TestAFailureToCreateIsAnEvent(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.fail["create Pod gpu-0"] = errors.New("quota")
	if _, err := r.Reconcile(t.Context(), request); err == nil {
		t.Error("it is no error")
	}
	expectStrings(t, "the events", r.takeEvents(),
		"Warning FailedCreate creating pod gpu-0: quota; the next attempt is in 1s")
}

func TestWorkersThatCannotBeMadeAreNotTriedAtEveryReading(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(100))
	forbidden := errors.New("exceeded quota")
	for i := range 100 {
		r.fail[fmt.Sprintf("create Pod gpu-%d", i)] = forbidden
	}
	tries, made := 0, 0
	r.before = func() error { tries++; return nil }
	if _, err := r.Reconcile(t.Context(), request); err == nil {
		t.Error("it is no error")
	}
	first := tries
	for range 60 { // ten minutes
		r.now = r.now.Add(10 * time.Second)
		r.slurm.Poll()
		if _, err := r.Reconcile(t.Context(), request); err == nil {
			made++
		}
	}
	if told := r.takeEvents(); len(told) > 12 || tries > 100 || made < 45 {
		t.Errorf("%d tries at first and %d in all, %d rounds without any, events %q", first, tries, made, told)
	}
	clear(r.fail)
	for range 40 {
		r.pollAndReconcile()
	}
	if n := len(r.pods()); n != 100 {
		t.Errorf("when they may be made there are %d", n)
	}
}

func TestARecordThatSlurmRefusesToDeleteIsInACondition(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.startWorkers()
	r.slurm.Fail["delete gpu-0"] = errors.New("node is in use")
	r.scale(0)
	for range 5 {
		r.now = r.now.Add(10 * time.Second)
		r.slurm.Poll()
		_, _ = r.Reconcile(t.Context(), request)
	}
	if c := r.expectCondition("Draining", "True", "RecordsLeft"); !strings.Contains(c.Message, "gpu-0") ||
		!strings.Contains(c.Message, "node is in use") {
		t.Errorf("it says %q", c.Message)
	}
	clear(r.slurm.Fail)
	r.pollAndReconcile()
	r.pollAndReconcile()
	r.expectCondition("Draining", "False", "NotDraining")
}

func TestAnOutageIsOneEvent(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(30))
	r.startWorkers()
	r.startWorkers()
	r.scale(0)
	for i, pod := range r.pods() {
		r.slurm.Start(uint32(i+1), pod.Name)
	}
	r.pollAndReconcile()
	r.pollAndReconcile()
	if told := r.takeEvents(); len(told) > 3 {
		t.Errorf("that 30 workers wait for jobs is %d events: %q", len(told), told)
	}
	for range 3 {
		r.slurm.Latest.Snapshot.Jobs.Err = errors.New("no route")
		r.reconcile()
		r.slurm.Poll()
		r.reconcile()
	}
	told := r.takeEvents()
	if len(told) != 3 {
		t.Fatalf("the events of three outages are %q", told)
	}
	expectStrings(t, "the first", told[:1],
		"Warning DeletionBlocked 30 workers wait (gpu-[0-29]), the first: worker gpu-29 is to be removed (ScaleIn) and waits: the reading of Slurm is not fresh: reading jobs: no route, until 2026-11-22T12:00:00Z at the latest")
}

func TestWhatAnAdministratorSetStaysWithoutAWorker(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, nodesettest.WithMaxReplicas(1)))
	r.startWorkers()
	n := r.slurm.Nodes["gpu-0"]
	n.State.Base, n.Reason = slurm.NodeDown, "bad fan"
	r.scale(0)
	for range 6 {
		r.pollAndReconcile()
	}
	// DRAIN is added, and the pod leaves the comment.
	expectStrings(t, "the calls", r.slurm.Calls, "update gpu-0", "update gpu-0")
	if n := r.slurm.Nodes["gpu-0"]; r.podNames() != "" || n.Reason != "bad fan" || n.State.Base != slurm.NodeDown ||
		!n.State.Has(slurm.NodeDrain) {
		t.Errorf("the pods are %q, the record %+v", r.podNames(), n)
	}
	r.scale(1)
	for range 3 {
		r.pollAndReconcile()
		r.kubelet()
	}
	if n := r.slurm.Nodes["gpu-0"]; r.podNames() != "gpu-0" || n.Reason != "bad fan" {
		t.Errorf("the pods are %q, the record %+v", r.podNames(), n)
	}
}

func TestWorkersWithoutNamesDoNotWaitForEachOther(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2,
		func(n *v1beta1.NodeSet) { n.Spec.Template.Spec.Raw = []byte(`{"hostNetwork": true}`) }))
	r.fail["create Pod gpu-0"] = errors.New("quota")
	if _, err := r.Reconcile(t.Context(), request); err == nil || r.podNames() != "gpu-1" {
		t.Errorf("it is %v, the pods are %q", err, r.podNames())
	}
}

func TestWithoutAFreshReadingNothingIsShown(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.startWorkers()
	r.slurm.Start(7, "gpu-0")
	r.slurm.Poll()
	r.now = r.now.Add(time.Hour)
	r.reconcile()
	r.expectCondition("Ready", "Unknown", "NotObserved")
	expectStrings(t, "the writes", r.writes, "patch status NodeSet gpu")
}

func TestANewProcessTellsNothingBeforeItHasRead(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(2)))
	r.startWorkers()
	r.slurm.Start(7, "gpu-0")
	r.scale(0)
	r.pollAndReconcile()
	r.expectCondition("Draining", "True", "WaitingForJobs")
	r.restart()
	r.clearWrites()
	latest := r.slurm.Latest
	r.slurm.Latest, r.slurmMissing = &slurmclients.Reading{Snapshot: &slurmclient.Snapshot{}}, true
	r.reconcile() // no client exists yet
	r.slurmMissing = false
	r.reconcile() // nothing is read yet
	expectStrings(t, "the writes", r.writes)
	r.expectCondition("Draining", "True", "WaitingForJobs")
	r.slurm.Outage = "no route"
	r.reconcile()
	r.expectCondition("Ready", "Unknown", "NotObserved")
	r.slurm.Latest, r.slurm.Outage = latest, ""
	r.reconcile()
	r.expectCondition("Ready", "False", "Progressing")
}

func TestWritesAreNotForgottenForAReadingThatCameMeanwhile(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.startWorkers()
	r.scale(0)
	slow := r.now.Add(10 * time.Second)
	r.slurm.Before = func() error { // Slurm is read during the slow write
		r.now = slow.Add(5 * time.Second)
		r.slurm.Poll()
		r.now = slow.Add(9 * time.Second)
		return nil
	}
	r.pollAndReconcile()
	r.slurm.Before = func() error { return nil }
	r.clearWrites()
	r.reconcile()
	expectStrings(t, "the calls", r.slurm.Calls)
}

// crashWorkers schedules pods, whose slurmd ends at once.
func (r *testEnv) crashWorkers() {
	for _, pod := range r.pods() {
		if pod.Labels[v1beta1.LabelAppName] == v1beta1.AppReleaseLookup {
			r.answerLookup(pod)
			continue
		}
		if pod.Spec.NodeName != "" {
			continue
		}
		pod.Spec.NodeName = "kube-" + pod.Labels[v1beta1.LabelPodIndex]
		r.must(r.Update(r.t.Context(), pod))
		pod.Status.Phase = corev1.PodRunning
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: render.ContainerSlurmd, RestartCount: 5,
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}}}
		r.must(r.Status().Update(r.t.Context(), pod))
	}
}

// TestAWorkerThatCrashesInANewClusterIsReplaced: no maximum is set, so Slurm has no records.
func TestAWorkerThatCrashesInANewClusterIsReplaced(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "Wieght=2" }))
	for range 3 {
		r.pollAndReconcile()
		r.crashWorkers()
	}
	before := r.pod("gpu-0")
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "Weight=2" })
	for range 24 * 60 {
		r.now = r.now.Add(time.Minute)
		r.pollAndReconcile()
	}
	if len(r.pods()) == 1 && r.pod("gpu-0").UID == before.UID && revisionOf(r.pod("gpu-0")) == revisionOf(before) {
		t.Errorf("a day after the correction of extraConf the crashing worker is still there; events %q", r.takeEvents())
	}
	r.must(r.Delete(t.Context(), r.nodeSet()))
	for range 24 * 60 {
		r.now = r.now.Add(time.Minute)
		r.pollAndReconcile()
	}
	if err := r.Get(t.Context(), request.NamespacedName, &v1beta1.NodeSet{}); err == nil {
		t.Errorf("a day after its deletion the NodeSet is still there; pods %q", r.podNames())
	}
}

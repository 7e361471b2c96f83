package daemon

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// applySteps are the steps that apply objects, in their order.
var applySteps = []string{"Begin", "BeforeObserve", "Observe", "Render", "BeforeGuard", "BeforeApply", "AfterApply"}

// endSteps are the steps after them.
var endSteps = []string{"ObserveDaemon", "SetStatus", "RecordEvents"}

// hasDeployment reports whether the Deployment of the object exists.
func (e *environment) hasDeployment(t *testing.T) bool {
	t.Helper()
	err := e.store.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "a"}, &appsv1.Deployment{})
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

func TestStepsRunInOrder(t *testing.T) {
	e := newEnvironment(t)
	result, err := e.reconcile(t)
	if err != nil || result.RequeueAfter != 0 {
		t.Fatalf("Reconcile() = %+v, %v", result, err)
	}
	if diff := cmp.Diff(slices.Concat(applySteps, endSteps), e.steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if e.writesBefore(t, "BeforeGuard") != 0 {
		t.Error("Reconcile() wrote before BeforeGuard")
	}
	applied := e.writesBefore(t, "AfterApply")
	if got := e.writesBefore(t, "BeforeApply"); got >= applied || !e.hasDeployment(t) {
		t.Errorf("BeforeApply ran after %d writes, AfterApply after %d, has Deployment = %t", got, applied, e.hasDeployment(t))
	}
	if got := e.writesBefore(t, "RecordEvents"); got != applied+1 {
		t.Errorf("RecordEvents ran after %d writes, want %d with the write of the status", got, applied+1)
	}
}

func TestSecondPassWritesNothing(t *testing.T) {
	e := newEnvironment(t)
	for range 2 { // the second one records what the guard learned of the Deployment
		if _, err := e.reconcile(t); err != nil {
			t.Fatal(err)
		}
	}
	writes := e.store.Writes
	if _, err := e.reconcile(t); err != nil {
		t.Fatal(err)
	}
	if e.store.Writes != writes || slices.Contains(e.steps, "RecordEvents") {
		t.Errorf("a pass without changes wrote %d times; steps %v", e.store.Writes-writes, e.steps)
	}
}

func TestErrorEndsThePass(t *testing.T) {
	for i, step := range applySteps {
		e := newEnvironment(t)
		e.fails[step] = errBroken
		if step == "Render" { // an error of the specification: see TestProblemIsReported
			continue
		}
		e.requeueAfter = time.Minute
		result, err := e.reconcile(t)
		if !errors.Is(err, errBroken) || result.RequeueAfter != 0 {
			t.Errorf("%s: Reconcile() = %+v, %v", step, result, err)
		}
		if diff := cmp.Diff(applySteps[:i+1], e.steps); diff != "" {
			t.Errorf("%s: steps (-want +got):\n%s", step, diff)
		}
		if got := e.status(t).Conditions; len(got) != 0 {
			t.Errorf("%s: conditions = %+v, want none", step, got)
		}
		if got, want := e.hasDeployment(t), step == "AfterApply"; got != want {
			t.Errorf("%s: has Deployment = %t, want %t", step, got, want)
		}
	}
}

func TestErrorOfObserveDaemonLeavesTheStatus(t *testing.T) {
	e := newEnvironment(t)
	e.fails["ObserveDaemon"] = errBroken
	if _, err := e.reconcile(t); !errors.Is(err, errBroken) {
		t.Errorf("Reconcile() error = %v, want %v", err, errBroken)
	}
	if slices.Contains(e.steps, "SetStatus") {
		t.Errorf("steps %v have SetStatus", e.steps)
	}
}

func TestConflictIsARequeue(t *testing.T) {
	e := newEnvironment(t)
	e.fails["BeforeObserve"] = apierrors.NewConflict(schema.GroupResource{Resource: "restapis"}, "a", errBroken)
	result, err := e.reconcile(t)
	if err != nil || result.RequeueAfter != kube.ConflictRetryDelay {
		t.Errorf("Reconcile() = %+v, %v, want a requeue after %v", result, err, kube.ConflictRetryDelay)
	}
}

func TestProblemIsReported(t *testing.T) {
	for i, step := range applySteps {
		e := newEnvironment(t)
		e.fails[step], e.requeueAfter = problem.New(v1beta1.ReasonInvalidSpec, "port 0 is too low"), time.Second
		result, err := e.reconcile(t)
		if want := kube.RetryDelay(&problem.Error{}); err != nil || result.RequeueAfter != want {
			t.Errorf("%s: Reconcile() = %+v, %v, want a requeue after %v", step, result, err, want)
		}
		if diff := cmp.Diff(slices.Concat(applySteps[:i+1], endSteps), e.steps); diff != "" {
			t.Errorf("%s: steps (-want +got):\n%s", step, diff)
		}
		ready := meta.FindStatusCondition(e.status(t).Conditions, v1beta1.ConditionReady)
		if ready == nil || ready.Reason != v1beta1.ReasonInvalidSpec || ready.Message != "port 0 is too low" {
			t.Errorf("%s: condition Ready = %+v", step, ready)
		}
	}
}

func TestOtherErrorOfRenderIsAProblem(t *testing.T) {
	e := newEnvironment(t)
	e.fails["Render"] = errors.New("port 0 is too low")
	if _, err := e.reconcile(t); err != nil {
		t.Fatal(err)
	}
	ready := meta.FindStatusCondition(e.status(t).Conditions, v1beta1.ConditionReady)
	if ready == nil || ready.Reason != v1beta1.ReasonInvalidSpec || ready.Message != "port 0 is too low" || e.hasDeployment(t) {
		t.Errorf("condition Ready = %+v, has Deployment = %t", ready, e.hasDeployment(t))
	}
}

func TestForbiddenNamespaceOnlyBegins(t *testing.T) {
	e := newEnvironment(t)
	e.namespaces = []string{"elsewhere"}
	if _, err := e.reconcile(t); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append([]string{"Begin"}, endSteps...), e.steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	ready := meta.FindStatusCondition(e.status(t).Conditions, v1beta1.ConditionReady)
	if ready == nil || ready.Reason != v1beta1.ReasonForbidden {
		t.Errorf("condition Ready = %+v", ready)
	}
}

func TestRequeue(t *testing.T) {
	const lookup = time.Second // while the guard looks up a release
	for _, tc := range []struct {
		name         string
		requeueAfter time.Duration
		isChanged    bool
		want         time.Duration
	}{
		{"never", 0, false, 0},
		{"the pass alone", time.Minute, false, time.Minute},
		{"the guard alone", 0, true, lookup},
		{"the guard before the pass", time.Minute, true, lookup},
		{"the pass before the guard", time.Millisecond, true, time.Millisecond},
	} {
		e := newEnvironment(t)
		e.requeueAfter = tc.requeueAfter
		if _, err := e.reconcile(t); err != nil {
			t.Fatal(err)
		}
		if tc.isChanged {
			e.image = "slurmrestd:2"
		}
		result, err := e.reconcile(t)
		if err != nil || result.RequeueAfter != tc.want {
			t.Errorf("%s: Reconcile() = %+v, %v, want a requeue after %v", tc.name, result, err, tc.want)
		}
	}
}

func TestGuardKeepsTheImage(t *testing.T) {
	e := newEnvironment(t)
	for _, image := range []string{"slurmrestd:1", "slurmrestd:2"} {
		e.image = image
		if _, err := e.reconcile(t); err != nil {
			t.Fatal(err)
		}
	}
	d := kubetest.Get(t, e.store, "a", &appsv1.Deployment{})
	if got := d.Spec.Template.Spec.Containers[0].Image; got != "slurmrestd:1" {
		t.Errorf("the image is %s before the guard allows another", got)
	}
	if got := e.status(t).NextImage; got != "slurmrestd:2" {
		t.Errorf("status.nextImage = %q, want slurmrestd:2", got)
	}
}

func TestMissingObjectEndsThePass(t *testing.T) {
	e := newEnvironment(t)
	if err := e.store.Delete(t.Context(), kubetest.Get(t, e.store, "a", &v1beta1.RestApi{})); err != nil {
		t.Fatal(err)
	}
	if result, err := e.reconcile(t); err != nil || result.RequeueAfter != 0 || len(e.steps) != 0 {
		t.Errorf("Reconcile() = %+v, %v; steps %v", result, err, e.steps)
	}
}

func TestHeldObjectIsLeftAlone(t *testing.T) {
	e := newEnvironment(t)
	e.store.Client = kubetest.WithManagedFields(e.store.Client, kubetest.WrittenBySlinky(kubetest.Noon()))
	result, err := e.reconcile(t)
	if err != nil || result.RequeueAfter == 0 || len(e.steps) != 0 || e.store.Writes != 1 {
		t.Errorf("Reconcile() = %+v, %v; steps %v; %d writes, want one for the condition", result, err, e.steps, e.store.Writes)
	}
}

// deleting returns an environment whose object is being deleted.
func deleting(t *testing.T) *environment {
	t.Helper()
	o := &v1beta1.RestApi{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1", Finalizers: []string{"slurm/test"},
		DeletionTimestamp: new(metav1.NewTime(kubetest.Noon()))}}
	e := newEnvironment(t)
	e.store = kubetest.NewStore(t, o)
	return e
}

func TestDeletion(t *testing.T) {
	wait := kube.RetryDelay(&problem.Error{})
	for _, tc := range []struct {
		name      string
		err, want error
		requeue   time.Duration
	}{
		{"done", nil, nil, 0},
		{"waits", problem.New(v1beta1.ReasonWaitingForNodeSets, "a worker is busy"), nil, wait},
		{"fails", errBroken, errBroken, 0},
	} {
		e := deleting(t)
		e.fails["Delete"], e.isExternal = tc.err, true // also for an external one
		result, err := e.reconcile(t)
		if !errors.Is(err, tc.want) || result.RequeueAfter != tc.requeue {
			t.Errorf("%s: Reconcile() = %+v, %v, want a requeue after %v and error %v", tc.name, result, err, tc.requeue, tc.want)
		}
		if diff := cmp.Diff([]string{"Delete"}, e.steps); diff != "" || e.store.Writes != 0 {
			t.Errorf("%s: %d writes; steps (-want +got):\n%s", tc.name, e.store.Writes, diff)
		}
	}
}

func TestExternalDaemon(t *testing.T) {
	for _, fails := range []error{nil, errBroken} {
		e := newEnvironment(t)
		e.isExternal, e.requeueAfter, e.fails["DeleteLeftovers"] = true, time.Minute, fails
		result, err := e.reconcile(t)
		if !errors.Is(err, fails) || result.RequeueAfter != 0 {
			t.Errorf("Reconcile() = %+v, %v, want error %v", result, err, fails)
		}
		if diff := cmp.Diff([]string{"DeleteLeftovers", "SetStatus", "RecordEvents"}, e.steps); diff != "" {
			t.Errorf("steps (-want +got):\n%s", diff)
		}
	}
}

func TestEventsNeedAWrittenStatus(t *testing.T) {
	e := newEnvironment(t)
	e.isExternal = true
	e.store.Kill = func(int) (bool, error) { return false, errBroken }
	if _, err := e.reconcile(t); !errors.Is(err, errBroken) {
		t.Errorf("Reconcile() error = %v, want %v", err, errBroken)
	}
	if slices.Contains(e.steps, "RecordEvents") {
		t.Error("RecordEvents was called for a status that was not written")
	}
}

func TestNoStepsDoesNothing(t *testing.T) {
	var steps Steps = NoSteps{}
	objects := []podspec.KubeObject{}
	err := errors.Join(steps.Delete(t.Context()), steps.DeleteLeftovers(t.Context()), steps.Begin(t.Context()),
		steps.BeforeObserve(t.Context()), steps.BeforeGuard(t.Context(), objects), steps.BeforeApply(t.Context()),
		steps.AfterApply(t.Context(), objects))
	steps.RecordEvents(nil)
	if err != nil || steps.IsExternal() || steps.RequeueAfter() != 0 {
		t.Errorf("errors = %v, IsExternal() = %t, RequeueAfter() = %v", err, steps.IsExternal(), steps.RequeueAfter())
	}
}

func TestFindDeployment(t *testing.T) {
	e := newEnvironment(t)
	if _, err := e.reconcile(t); err != nil {
		t.Fatal(err)
	}
	w := kube.Writer{Client: e.store}
	for _, tc := range []struct {
		namespace, name string
		want            bool
	}{{"team", "a", true}, {"team", "b", false}, {"closed", "a", false}} {
		w.Namespaces = []string{"team"}
		got, err := FindDeployment(t.Context(), w, client.ObjectKey{Namespace: tc.namespace, Name: tc.name})
		if err != nil || (got != nil) != tc.want {
			t.Errorf("FindDeployment(%s/%s) = %v, %v, want one: %t", tc.namespace, tc.name, got, err, tc.want)
		}
	}
}

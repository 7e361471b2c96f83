package daemon

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// environment is a Reconciler of a fake kind, whose passes record their steps.
type environment struct {
	store      *kubetest.Store
	recorder   *events.FakeRecorder
	namespaces []string
	// steps are the names of the steps that ran, and writes how many writes there were before each.
	steps  []string
	writes []int
	// fails has the errors of steps, by their names.
	fails        map[string]error
	isExternal   bool
	requeueAfter time.Duration
	image        string
}

// newEnvironment returns an environment with one object, "a".
func newEnvironment(t *testing.T) *environment {
	t.Helper()
	o := &v1beta1.RestApi{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1", Generation: 3}}
	return &environment{store: kubetest.NewStore(t, o), recorder: events.NewFakeRecorder(10), fails: map[string]error{},
		image: "slurmrestd:1"}
}

// reconcile reconciles the object once.
func (e *environment) reconcile(t *testing.T) (ctrl.Result, error) {
	t.Helper()
	e.steps, e.writes = nil, nil
	w := kube.Writer{Client: e.store, Uncached: e.store, Owner: "slurm-operator-test", Namespaces: e.namespaces}
	r := New(w, e.recorder, kubetest.Noon, Kind[*v1beta1.RestApi]{Name: v1beta1.KindRestApi,
		NewObject: func() *v1beta1.RestApi { return &v1beta1.RestApi{} }, Workload: &appsv1.Deployment{},
		NewPass: func(o *v1beta1.RestApi) Pass[*v1beta1.RestApi] { return &fakePass{environment: e, object: o} }})
	return r.Reconcile(t.Context(), kubetest.Request("a"))
}

// step records a step and returns its error.
func (e *environment) step(name string) error {
	e.steps, e.writes = append(e.steps, name), append(e.writes, e.store.Writes)
	return e.fails[name]
}

// writesBefore returns how many writes there were before a step.
func (e *environment) writesBefore(t *testing.T, step string) int {
	t.Helper()
	i := slices.Index(e.steps, step)
	if i < 0 {
		t.Fatalf("step %s was not called: %v", step, e.steps)
	}
	return e.writes[i]
}

// status returns the status of the object.
func (e *environment) status(t *testing.T) v1beta1.RestApiStatus {
	t.Helper()
	return kubetest.Get(t, e.store, "a", &v1beta1.RestApi{}).Status
}

// fakePass is a pass over a RestApi that renders one Deployment.
type fakePass struct {
	*environment
	object *v1beta1.RestApi
}

func (p *fakePass) Delete(context.Context) error          { return p.step("Delete") }
func (p *fakePass) IsExternal() bool                      { return p.isExternal }
func (p *fakePass) DeleteLeftovers(context.Context) error { return p.step("DeleteLeftovers") }
func (p *fakePass) Begin(context.Context) error           { return p.step("Begin") }
func (p *fakePass) BeforeObserve(context.Context) error   { return p.step("BeforeObserve") }
func (p *fakePass) Observe(context.Context) error         { return p.step("Observe") }
func (p *fakePass) BeforeApply(context.Context) error     { return p.step("BeforeApply") }
func (p *fakePass) ObserveDaemon(context.Context) error   { return p.step("ObserveDaemon") }
func (p *fakePass) RequeueAfter() time.Duration           { return p.requeueAfter }

func (p *fakePass) BeforeGuard(context.Context, []podspec.KubeObject) error {
	return p.step("BeforeGuard")
}
func (p *fakePass) AfterApply(context.Context, []podspec.KubeObject) error {
	return p.step("AfterApply")
}
func (p *fakePass) RecordEvents([]metav1.Condition) { _ = p.step("RecordEvents") }

func (p *fakePass) Render() ([]podspec.KubeObject, error) {
	labels := map[string]string{"app": "a"}
	return []podspec.KubeObject{&appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: p.object.Namespace, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(p.object, v1beta1.SchemeGroupVersion.WithKind(v1beta1.KindRestApi))}},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "slurmrestd", Image: p.image}}}}}}}, p.step("Render")
}

func (p *fakePass) SetStatus(next *v1beta1.RestApi, reported *problem.Error) {
	_ = p.step("SetStatus")
	ready := metav1.Condition{Status: metav1.ConditionTrue, Reason: "Fine"}
	if reported != nil {
		ready = metav1.Condition{Status: metav1.ConditionFalse, Reason: reported.Reason, Message: reported.Message}
	}
	v1beta1.SetCondition(&next.Status.Conditions, v1beta1.ConditionReady, ready, next.Generation, kubetest.Noon())
}

var errBroken = errors.New("the API server is away")

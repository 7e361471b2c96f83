package wakeup

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// queue is a Demand that says what a test wants.
type queue struct {
	required int64
	age      time.Duration
	err      error
	asked    int
}

// rig is a reconciler on a store that behaves as the API server does about scale.
type rig struct {
	*Reconciler
	client.Client
	queue  *queue
	now    time.Time
	events *events.FakeRecorder
	// scales, zeros and patches count the writes to replicas, of zero, and to the status.
	scales, zeros, patches int
	// conflict makes the next write meet one.
	conflict bool
}

func (r *rig) RequiredNodes(context.Context, string, string) (int64, time.Time, error) {
	r.queue.asked++
	return r.queue.required, r.now.Add(-r.queue.age), r.queue.err
}

func newRig(t *testing.T, options ...option) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1beta1.AddToScheme, autoscalingv1.AddToScheme, autoscalingv2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := saw(options...)
	r := &rig{queue: &queue{}, now: now, events: events.NewFakeRecorder(100)}
	b := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(s.nodeSet).WithObjects(s.nodeSet).
		WithReturnManagedFields().WithIndex(&autoscalingv2.HorizontalPodAutoscaler{}, targetField, target).
		WithInterceptorFuncs(interceptor.Funcs{SubResourceUpdate: r.update, SubResourcePatch: r.patch, Apply: r.own})
	for i := range s.hpas {
		b.WithObjects(&s.hpas[i])
	}
	r.Client = b.Build()
	r.Reconciler = New(r.Client, r, r.events, func() time.Time { return r.now }, DefaultConfig())
	return r
}

func (r *rig) update(ctx context.Context, c client.Client, name string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	options := &client.SubResourceUpdateOptions{}
	options.ApplyOptions(opts)
	scale, ok := options.SubResourceBody.(*autoscalingv1.Scale)
	if name != "scale" || !ok || options.FieldManager != FieldManager {
		return errors.New("this is no write to scale by its field manager")
	}
	live := &v1beta1.NodeSet{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
		return err
	}
	if r.conflict || scale.ResourceVersion != live.ResourceVersion {
		r.conflict = false
		return apierrors.NewConflict(v1beta1.Resource("nodesets"), live.Name, errors.New("it has changed"))
	}
	r.scales++
	live.Spec.Replicas = &scale.Spec.Replicas
	if err := c.Update(ctx, live); err != nil {
		return err
	}
	scale.ResourceVersion = live.ResourceVersion
	return nil
}

// own counts the applies of a zero, which the store knows how to do.
func (r *rig) own(ctx context.Context, c client.WithWatch, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	r.zeros++
	return c.Apply(ctx, config, opts...)
}

func (r *rig) patch(ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	r.patches++
	return c.SubResource(name).Patch(ctx, obj, patch, opts...)
}

func (r *rig) reconcile(t *testing.T) ctrl.Result {
	t.Helper()
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "slurm", Name: "gpu"}})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (r *rig) nodeSet(t *testing.T) *v1beta1.NodeSet {
	t.Helper()
	out := &v1beta1.NodeSet{}
	if err := r.Get(t.Context(), client.ObjectKey{Namespace: "slurm", Name: "gpu"}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// says fails unless the NodeSet has that many replicas and its condition that reason.
func (r *rig) says(t *testing.T, n int32, reason string) {
	t.Helper()
	got := r.nodeSet(t)
	if replicas(got) != n {
		t.Errorf("there are %d replicas, not %d", replicas(got), n)
	}
	c := meta.FindStatusCondition(got.Status.Conditions, v1beta1.ConditionWakeUp)
	if c == nil || c.Reason != reason {
		t.Errorf("the condition is %+v, not %s", c, reason)
	}
}

func TestWaking(t *testing.T) {
	r := newRig(t)
	if got := r.reconcile(t); got.RequeueAfter != poll {
		t.Errorf("it looks again after %s", got.RequeueAfter)
	}
	r.says(t, 0, "NotNeeded")
	r.queue.required = 3
	r.reconcile(t)
	r.says(t, 3, "Woken")
	want := "Normal Woken it was at zero with HPA gpu asleep and needed 3: set to 3"
	if got := <-r.events.Events; got != want {
		t.Errorf("the event is %q", got)
	}
	if got := r.reconcile(t); got.RequeueAfter != 0 {
		t.Errorf("it looks again after %s", got.RequeueAfter)
	}
	if r.scales != 1 || r.patches != 2 || r.queue.asked != 2 {
		t.Errorf("%d writes to scale, %d to status, %d questions", r.scales, r.patches, r.queue.asked)
	}
}

func TestGoingToZero(t *testing.T) {
	r := newRig(t, at(2), hpaFloor(1), annotated(v1beta1.AnnotationZeroAfter, "1m"))
	for range 12 {
		r.reconcile(t)
		r.says(t, 2, "NotNeeded")
		r.now = r.now.Add(poll)
	}
	if r.patches != 1 {
		t.Errorf("waiting wrote the status %d times", r.patches)
	}
	r.reconcile(t)
	r.says(t, 0, "TakenToZero")
	if got := <-r.events.Events; !strings.HasPrefix(got, "Normal TakenToZero it was taken to zero after it was idle (1m0s)") {
		t.Errorf("the event is %q", got)
	}
}

func TestZerosOfAnHPAAreClaimed(t *testing.T) {
	r := newRig(t, unowned, hpaAwake)
	r.reconcile(t)
	r.reconcile(t)
	if r.zeros != 1 || r.scales != 0 || r.patches != 1 || len(r.events.Events) != 0 {
		t.Errorf("%d claims, %d writes to scale, %d to status, %d events", r.zeros, r.scales, r.patches, len(r.events.Events))
	}
	r.says(t, 0, "NotNeeded")
}

func TestUnknownDemandStartsTheIdleTimeAnew(t *testing.T) {
	r := newRig(t, at(2), hpaFloor(1), annotated(v1beta1.AnnotationZeroAfter, "1m"))
	r.reconcile(t)
	r.now = r.now.Add(50 * time.Second)
	r.queue.err = errors.New("slurmrestd does not answer")
	r.reconcile(t)
	r.says(t, 2, "DemandUnknown")
	r.queue.err = nil
	for _, after := range []time.Duration{poll, 55 * time.Second} {
		r.now = r.now.Add(after)
		r.reconcile(t)
		r.says(t, 2, "NotNeeded")
	}
	r.now = r.now.Add(poll)
	r.reconcile(t)
	r.says(t, 0, "TakenToZero")
}

func TestAConflictIsLookedAtAgain(t *testing.T) {
	r := newRig(t)
	r.queue.required = 3
	r.conflict = true
	if got := r.reconcile(t); got.RequeueAfter != poll {
		t.Errorf("it looks again after %s", got.RequeueAfter)
	}
	if got := r.nodeSet(t); replicas(got) != 0 || got.Status.Conditions != nil || len(r.events.Events) != 0 {
		t.Errorf("it tells of what was not done: %+v", got.Status)
	}
	r.reconcile(t)
	r.says(t, 3, "Woken")
}

func TestTheConditionLeavesTheRestOfTheStatusAlone(t *testing.T) {
	ready := metav1.Condition{Type: "Ready", Status: "True", Reason: "Available", LastTransitionTime: metav1.NewTime(now)}
	r := newRig(t, func(s *seen) {
		s.nodeSet.Status = v1beta1.NodeSetStatus{Selector: "a=b", NodeSetHash: "x", SlurmIdle: 2, Conditions: []metav1.Condition{ready}}
	})
	r.reconcile(t)
	got := r.nodeSet(t).Status
	if !meta.RemoveStatusCondition(&got.Conditions, v1beta1.ConditionWakeUp) {
		t.Error("there is no condition")
	}
	got.Conditions[0].LastTransitionTime = metav1.NewTime(now)
	want := v1beta1.NodeSetStatus{Selector: "a=b", NodeSetHash: "x", SlurmIdle: 2, Conditions: []metav1.Condition{ready}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheConditionGoesWithTheHPA(t *testing.T) {
	r := newRig(t, at(2), condition("False", "NotNeeded", "it has replicas"), func(s *seen) { s.hpas = nil })
	r.reconcile(t)
	if got := r.nodeSet(t).Status.Conditions; len(got) != 0 {
		t.Errorf("the conditions are %+v", got)
	}
}

func TestNodeSetsThatAreGone(t *testing.T) {
	r := newRig(t, at(2), hpaFloor(1), annotated(v1beta1.AnnotationZeroAfter, "1m"))
	r.reconcile(t)
	if err := r.Delete(t.Context(), r.nodeSet(t)); err != nil {
		t.Fatal(err)
	}
	if got := r.reconcile(t); got != (ctrl.Result{}) {
		t.Errorf("it looks again: %+v", got)
	}
	if len(r.idle.times) != 0 {
		t.Error("its idle time is kept")
	}
}

func TestTargets(t *testing.T) {
	for _, tc := range []struct {
		name, apiVersion, kind string
		want                   []string
	}{
		{"a NodeSet", "slinky.slurm.net/v1beta1", "NodeSet", []string{"gpu"}},
		{"a NodeSet of another version", "slinky.slurm.net/v1alpha1", "NodeSet", []string{"gpu"}},
		{"another kind", "slinky.slurm.net/v1beta1", "LoginSet", nil},
		{"another group", "apps/v1", "NodeSet", nil},
		{"no group", "v1", "NodeSet", nil},
		{"no version", "a/b/c", "NodeSet", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := hpa("h")
			h.Spec.ScaleTargetRef.APIVersion, h.Spec.ScaleTargetRef.Kind = tc.apiVersion, tc.kind
			if diff := cmp.Diff(tc.want, target(h)); diff != "" {
				t.Error(diff)
			}
			var requested []string
			for _, r := range requests(t.Context(), h) {
				requested = append(requested, r.Name)
			}
			if diff := cmp.Diff(tc.want, requested); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOrigins(t *testing.T) {
	entry := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const replicas = `{"f:spec":{"f:replicas":{},"f:slurmd":{".":{}}}}`
	for _, tc := range []struct {
		name    string
		entries []metav1.ManagedFieldsEntry
		want    origin
	}{
		{"nobody", nil, byHand},
		{"owners of other fields", []metav1.ManagedFieldsEntry{
			entry("helm", "", `{"f:spec":{"f:slurmd":{}}}`), entry("slurm-operator", "status", `{"f:status":{"f:replicas":{}}}`),
			entry("broken", "", `{`), {Manager: "empty"},
		}, byHand},
		{"a manifest", []metav1.ManagedFieldsEntry{entry("helm", "", replicas)}, byManifest},
		{"a claim", []metav1.ManagedFieldsEntry{entry(FieldManager, "", replicas)}, byAutoscaler},
		{"a claim beside a manifest", []metav1.ManagedFieldsEntry{entry("helm", "", replicas), entry(FieldManager, "", replicas)}, byAutoscaler},
		{"a claim beside an HPA", []metav1.ManagedFieldsEntry{entry("kube-controller-manager", "scale", replicas), entry(FieldManager, "", replicas)}, byAutoscaler},
		{"the scale subresource", []metav1.ManagedFieldsEntry{entry("kubectl", "scale", replicas)}, byHand},
		{"the scale subresource beside a manifest", []metav1.ManagedFieldsEntry{entry("helm", "", replicas), entry("kubectl", "scale", replicas)}, byHand},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := originOf(tc.entries); got != tc.want {
				t.Errorf("the origin is %d, not %d", got, tc.want)
			}
		})
	}
}

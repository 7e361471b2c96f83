package wakeup

import (
	"context"
	"errors"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/scaling"
)

// fakeDemand is a DemandSource with a result that a test sets.
type fakeDemand struct {
	required int64
	age      time.Duration
	err      error
	requests int
}

// env is a reconciler with a store that behaves like the API server for the scale subresource.
type env struct {
	*Reconciler
	client.Client
	fake   *fakeDemand
	now    time.Time
	events *events.FakeRecorder
	// scales, zeros and patches count the writes to replicas, of zero, and to the status.
	scales, zeros, patches int
	// conflict makes the next write of replicas fail with a conflict.
	conflict bool
}

func (r *env) RequiredNodes(context.Context, string, string) (int64, time.Time, error) {
	r.fake.requests++
	return r.fake.required, r.now.Add(-r.fake.age), r.fake.err
}

func newEnv(t *testing.T, options ...option) *env {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1beta1.AddToScheme, autoscalingv1.AddToScheme,
		autoscalingv2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := newObservation(options...)
	r := &env{fake: &fakeDemand{}, now: now, events: events.NewFakeRecorder(100)}
	b := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(s.nodeSet).WithObjects(s.nodeSet).
		WithReturnManagedFields().WithIndex(&autoscalingv2.HorizontalPodAutoscaler{}, NodeSetIndex, NodeSetNames).
		WithInterceptorFuncs(interceptor.Funcs{SubResourceUpdate: r.updateScale, SubResourcePatch: r.countStatusPatch,
			Apply: r.applyZero})
	for i := range s.hpas {
		b.WithObjects(&s.hpas[i])
	}
	r.Client = b.Build()
	r.Reconciler = New(r.Client, r, r.events, func() time.Time { return r.now }, DefaultConfig())
	return r
}

func (r *env) updateScale(ctx context.Context, c client.Client, name string, obj client.Object,
	opts ...client.SubResourceUpdateOption) error {
	options := &client.SubResourceUpdateOptions{}
	options.ApplyOptions(opts)
	scale, ok := options.SubResourceBody.(*autoscalingv1.Scale)
	if name != "scale" || !ok || options.FieldManager != FieldManager {
		return errors.New("not a write to scale by its field manager")
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
	return c.Update(ctx, live)
}

// applyZero counts the applies of a zero and passes them to the store.
func (r *env) applyZero(ctx context.Context, c client.WithWatch, config runtime.ApplyConfiguration,
	opts ...client.ApplyOption) error {
	if r.conflict {
		r.conflict = false
		return apierrors.NewConflict(v1beta1.Resource("nodesets"), "gpu", errors.New("it has changed"))
	}
	r.zeros++
	return c.Apply(ctx, config, opts...)
}

func (r *env) countStatusPatch(ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch,
	opts ...client.SubResourcePatchOption) error {
	r.patches++
	return c.SubResource(name).Patch(ctx, obj, patch, opts...)
}

func (r *env) reconcile(t *testing.T) ctrl.Result {
	t.Helper()
	result, err := r.Reconcile(t.Context(),
		ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "slurm", Name: "gpu"}})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (r *env) nodeSet(t *testing.T) *v1beta1.NodeSet {
	t.Helper()
	out := &v1beta1.NodeSet{}
	if err := r.Get(t.Context(), client.ObjectKey{Namespace: "slurm", Name: "gpu"}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// expect fails unless the NodeSet has that many replicas and its condition that reason.
func (r *env) expect(t *testing.T, n int32, reason string) {
	t.Helper()
	got := r.nodeSet(t)
	if scaling.SpecReplicas(got) != n {
		t.Errorf("there are %d replicas, not %d", scaling.SpecReplicas(got), n)
	}
	c := meta.FindStatusCondition(got.Status.Conditions, v1beta1.ConditionWakeUp)
	if c == nil || c.Reason != reason {
		t.Errorf("the condition is %+v, not %s", c, reason)
	}
}

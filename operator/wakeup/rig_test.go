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
	// conflict makes the next write of replicas meet one.
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
		WithReturnManagedFields().WithIndex(&autoscalingv2.HorizontalPodAutoscaler{}, TargetField, Target).
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
	return c.Update(ctx, live)
}

// own counts the applies of a zero, which the store knows how to do.
func (r *rig) own(ctx context.Context, c client.WithWatch, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if r.conflict {
		r.conflict = false
		return apierrors.NewConflict(v1beta1.Resource("nodesets"), "gpu", errors.New("it has changed"))
	}
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

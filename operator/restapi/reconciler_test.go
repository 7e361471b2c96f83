package restapi

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// newStore returns a store with a RestApi "team/api" of Controller "slurm", and a count of its writes.
func newStore(t *testing.T, objects ...client.Object) (client.Client, *int) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	api := &v1beta1.RestApi{ObjectMeta: metav1.ObjectMeta{Name: "api", UID: "uid-api", Generation: 1}}
	api.Spec.ControllerRef.Name = "slurm"
	for _, o := range append(objects, api) {
		o.SetNamespace("team")
	}
	writes := new(int)
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, api)...).WithStatusSubresource(api).
		WithInterceptorFuncs(interceptor.Funcs{
			Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration,
				options ...client.ApplyOption) error {
				*writes++
				return c.Apply(ctx, o, options...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
				options ...client.SubResourcePatchOption) error {
				*writes++
				return c.SubResource(sub).Patch(ctx, o, p, options...)
			},
		}).Build(), writes
}

// reconcileAPI reconciles the RestApi and returns its condition Ready.
func reconcileAPI(t *testing.T, store client.Client) metav1.Condition {
	t.Helper()
	name := client.ObjectKey{Namespace: "team", Name: "api"}
	r := New(store, store, time.Now, Config{Image: "slurmrestd:1"})
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name}); err != nil {
		t.Fatal(err)
	}
	api := &v1beta1.RestApi{}
	if err := store.Get(t.Context(), name, api); err != nil {
		t.Fatal(err)
	}
	return *meta.FindStatusCondition(api.Status.Conditions, v1beta1.ConditionReady)
}

func newController(accounting string) *v1beta1.Controller {
	c := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Name: "slurm"}}
	c.Spec.SlurmKeyRef = &corev1.SecretKeySelector{}
	if accounting != "" {
		c.Spec.AccountingRef = &corev1.LocalObjectReference{Name: accounting}
	}
	return c
}

func TestReconcileAppliesOnceAndReportsReadiness(t *testing.T) {
	store, writes := newStore(t, newController("acct"), &v1beta1.Accounting{ObjectMeta: metav1.ObjectMeta{Name: "acct"}})
	if c := reconcileAPI(t, store); c.Reason != v1beta1.ReasonProgressing {
		t.Errorf("without a pod the condition is %+v", c)
	}
	deployment := &appsv1.Deployment{}
	if err := store.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "api-restapi"}, deployment); err != nil {
		t.Fatal(err)
	}
	if args := strings.Join(deployment.Spec.Template.Spec.Containers[0].Args, " "); !strings.Contains(args, "slurmdbd") {
		t.Errorf("with an Accounting the arguments are %s", args)
	}
	*writes = 0
	if reconcileAPI(t, store); *writes > 0 {
		t.Errorf("%d writes, although nothing has changed", *writes)
	}
	deployment.Status.AvailableReplicas, deployment.Status.Replicas = 1, 1
	if err := store.Status().Update(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	if c := reconcileAPI(t, store); c.Status != metav1.ConditionTrue {
		t.Errorf("with an available pod the condition is %+v", c)
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	for _, tc := range []struct {
		name    string
		objects []client.Object
		reason  string
		message string
	}{
		{"no Controller", nil, v1beta1.ReasonReferenceNotFound, "there is no Controller slurm"},
		{"no Accounting", []client.Object{newController("acct")}, v1beta1.ReasonReferenceNotFound,
			"there is no Accounting acct"},
		{"a Service of somebody else", []client.Object{newController(""), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "api-restapi"}}}, v1beta1.ReasonObjectTaken, "Service team/api-restapi"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			store, _ := newStore(t, tc.objects...)
			if c := reconcileAPI(t, store); c.Reason != tc.reason || !strings.Contains(c.Message, tc.message) {
				t.Errorf("the condition is %+v", c)
			}
		})
	}
}

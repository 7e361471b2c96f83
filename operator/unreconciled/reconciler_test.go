package unreconciled

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func TestUnreconciledKindsGetNotReconciled(t *testing.T) {
	for _, kind := range unreconciledKinds() {
		t.Run(kindOf(kind), func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := v1beta1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			object := kind.DeepCopyObject().(client.Object)
			object.SetName("a")
			object.SetNamespace("team")
			object.SetGeneration(3)
			kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(object).WithStatusSubresource(object).Build()
			r := &reconciler{client: kube, now: time.Now, prototype: kind}
			look := func() (metav1.Condition, string) {
				t.Helper()
				if _, err := r.Reconcile(t.Context(),
					ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)}); err != nil {
					t.Fatal(err)
				}
				if err := kube.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
					t.Fatal(err)
				}
				conditions, _ := conditionsOf(object)
				ready := meta.FindStatusCondition(*conditions, v1beta1.ConditionReady)
				if ready == nil {
					t.Fatal("the condition Ready is missing")
				}
				return *ready, object.GetResourceVersion()
			}
			ready, version := look()
			if ready.Status != metav1.ConditionFalse || ready.Reason != v1beta1.ReasonNotReconciled ||
				ready.ObservedGeneration != 3 || !strings.Contains(ready.Message, kindOf(kind)) {
				t.Errorf("the condition is %+v", ready)
			}
			if _, again := look(); again != version {
				t.Error("the status is written again although nothing has changed")
			}
		})
	}
}

func TestIgnoredFieldsAreReported(t *testing.T) {
	set := &corev1.ConfigMapKeySelector{Key: "jwks.json"}
	controller, login := &v1beta1.Controller{}, &v1beta1.LoginSet{}
	controller.Spec.JWKSKeyRef, login.Spec.SSSDConfRef.Optional = set, new(true)
	for field, object := range map[string]client.Object{"controller": controller, "login": login} {
		changed := setConditions(time.Now(), object)
		where, _ := conditionsOf(object)
		conditions := *where
		if !changed || len(conditions) != 2 || conditions[0].Type != v1beta1.ConditionReady {
			t.Fatalf("%s: the conditions are %+v", field, conditions)
		}
		want := "spec.jwksKeyRef is not supported yet: "
		if object == client.Object(login) {
			want = "spec.sssdConfRef.optional has no effect: "
		}
		if c := conditions[1]; c.Type != v1beta1.ConditionFieldsIgnored || c.Status != metav1.ConditionTrue ||
			!strings.HasPrefix(c.Message, want) {
			t.Errorf("%s: the condition is %+v", field, c)
		}
	}
	if setConditions(time.Now(), controller) {
		t.Errorf("the status is written again: %+v", controller.Status)
	}
	controller.Spec.JWKSKeyRef = nil
	changed, conditions := setConditions(time.Now(), controller), controller.Status.Conditions
	if !changed || len(conditions) != 1 || conditions[0].Type != v1beta1.ConditionReady {
		t.Errorf("without the field the conditions are %+v", conditions)
	}
}

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// newOwnedConfigMap returns a ConfigMap of an owner.
func newOwnedConfigMap(name string, data map[string]string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "c"}, Data: data}
	if name != "" {
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: name, UID: "uid-" +
			types.UID(name), Controller: new(true)}}
	}
	return c
}

func TestApply(t *testing.T) {
	store := fake.NewClientBuilder().Build()
	apply := func(want *corev1.ConfigMap) *corev1.ConfigMap {
		t.Helper()
		if err := Apply(t.Context(), store, store, want, owner); err != nil {
			t.Fatal(err)
		}
		got := &corev1.ConfigMap{}
		if err := store.Get(t.Context(), client.ObjectKeyFromObject(want), got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := apply(newOwnedConfigMap("a", map[string]string{"ours": "1", "gone": "1"}))
	if got.Data["ours"] != "1" || len(got.OwnerReferences) != 1 {
		t.Errorf("it is created as %+v", got)
	}
	got.Data["theirs"] = "1"
	if err := store.Update(t.Context(), got, client.FieldOwner("others")); err != nil {
		t.Fatal(err)
	}
	got = apply(newOwnedConfigMap("a", map[string]string{"ours": "2"}))
	if _, has := got.Data["gone"]; has || got.Data["ours"] != "2" || got.Data["theirs"] != "1" {
		t.Errorf("it is corrected to %v", got.Data)
	}
	version := got.ResourceVersion
	if got = apply(newOwnedConfigMap("a", map[string]string{"ours": "2"})); got.ResourceVersion != version {
		t.Error("it is written again although nothing has changed")
	}
	for _, other := range []string{"", "b"} {
		var taken *problem.Error
		err := Apply(t.Context(), store, store, newOwnedConfigMap(other, nil), owner)
		if !errors.As(err, &taken) || taken.Reason != v1beta1.ReasonObjectTaken ||
			!strings.HasPrefix(taken.Message, "ConfigMap team/c exists") {
			t.Errorf("of the owner %q the error is %v", other, err)
		}
	}
}

// TestApplyLooksPastTheCache: an object that the cache does not hold is not taken for one that does not
// exist.
func TestApplyLooksPastTheCache(t *testing.T) {
	empty, store := fake.NewClientBuilder().Build(), fake.NewClientBuilder().WithObjects(newOwnedConfigMap("", nil)).Build()
	var taken *problem.Error
	if err := Apply(t.Context(), empty, store, newOwnedConfigMap("a", nil), owner); !errors.As(err, &taken) {
		t.Errorf("the error is %v", err)
	}
}

// TestApplyLeavesAReplacedObjectAlone: the cache has an object of ours, whose name somebody else's has now. The API server
// answers as Kubernetes 1.35 does.
func TestApplyLeavesAReplacedObjectAlone(t *testing.T) {
	ours := newOwnedConfigMap("a", nil)
	ours.UID = "ours"
	var uid types.UID
	cache := fake.NewClientBuilder().WithObjects(ours).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
			wanted, _ := o.(metav1.Object)
			uid = wanted.GetUID()
			return apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "c",
				field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
		}}).Build()
	err := Apply(t.Context(), cache, cache, newOwnedConfigMap("a", map[string]string{"new": "1"}), owner)
	if !apierrors.IsConflict(err) || uid != "ours" {
		t.Errorf("the UID is %q, and the error is %v", uid, err)
	}
}

// TestAnInvalidObjectIsAProblem: only a change of the spec makes the API server take it.
func TestAnInvalidObjectIsAProblem(t *testing.T) {
	refusal := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "c", nil)
	store := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return refusal
		}}).Build()
	var reported *problem.Error
	err := Apply(t.Context(), store, store, newOwnedConfigMap("a", nil), owner)
	if !errors.As(err, &reported) || reported.Reason != v1beta1.ReasonInvalidSpec ||
		!strings.HasPrefix(reported.Message, "the API server refuses ConfigMap team/c: ") {
		t.Errorf("the error is %v", err)
	}
}

func TestContains(t *testing.T) {
	for _, tc := range []struct {
		name, has, wanted string
		want              bool
	}{
		{"the same", `{"a":[1,{"b":"x"}]}`, `{"a":[1,{"b":"x"}]}`, true},
		{"more in an object", `{"a":[{"b":"x","default":1}],"c":1}`, `{"a":[{"b":"x"}]}`, true},
		{"another value", `{"a":1}`, `{"a":2}`, false},
		{"a missing key", `{}`, `{"a":1}`, false},
		{"a longer list", `{"a":[1,2]}`, `{"a":[1]}`, false},
		{"a shorter list", `{"a":[1]}`, `{"a":[1,2]}`, false},
		{"an empty object that is missing", `{}`, `{"a":{}}`, true},
		{"an empty list that is missing", `{}`, `{"a":[]}`, true},
		{"another kind of value", `{"a":[1]}`, `{"a":{"b":1}}`, false},
		{"null", `{}`, `{"a":null}`, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var has, wanted any
			if err := errors.Join(json.Unmarshal([]byte(tc.has), &has),
				json.Unmarshal([]byte(tc.wanted), &wanted)); err != nil {
				t.Fatal(err)
			}
			if got := contains(has, wanted); got != tc.want {
				t.Errorf("it is %t", got)
			}
		})
	}
}

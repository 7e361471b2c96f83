package v1beta1

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// setOptional marks every reference to a key of a Secret as optional, and returns the paths of the marks.
func setOptional(spec reflect.Value, path string) []string {
	if ref, ok := spec.Addr().Interface().(*corev1.SecretKeySelector); ok {
		ref.Optional = new(true)
		return []string{path + ".optional"}
	}
	switch spec.Type() {
	case reflect.TypeFor[*corev1.SecretKeySelector](), reflect.TypeFor[*NodeSetSSH](),
		reflect.TypeFor[*StorageConfig]():
		spec.Set(reflect.New(spec.Type().Elem()))
		return setOptional(spec.Elem(), path)
	}
	var out []string
	if spec.Kind() == reflect.Struct && strings.HasSuffix(spec.Type().PkgPath(), "/v1beta1") {
		for i := range spec.NumField() {
			f := spec.Type().Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && name != "-" {
				out = append(out, setOptional(spec.Field(i), strings.TrimPrefix(path+"."+name, "."))...)
			}
		}
	}
	return out
}

func TestOptionalReferencesAreReportedAsIgnored(t *testing.T) {
	for _, spec := range []interface{ IgnoredFields() []IgnoredField }{
		&NodeSetSpec{}, &ControllerSpec{}, &AccountingSpec{}, &LoginSetSpec{}, &ClusterSpec{}, &TokenSpec{},
	} {
		if got := spec.IgnoredFields(); len(got) != 0 {
			t.Errorf("%T: an empty spec has ignored fields: %v", spec, got)
		}
		want := setOptional(reflect.ValueOf(spec).Elem(), "")
		var got []string
		for _, i := range spec.IgnoredFields() {
			if !strings.HasPrefix(i.Explanation, "has no effect: ") {
				t.Errorf("%T: unexpected ignored field %v", spec, i)
			}
			got = append(got, i.Field)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); len(want) == 0 || diff != "" {
			t.Errorf("%T: %s", spec, diff)
		}
	}
}

func TestKeySetsAreIgnored(t *testing.T) {
	ref := &corev1.ConfigMapKeySelector{Key: "jwks.json"}
	got := (&ControllerSpec{JWKSKeyRef: ref}).IgnoredFields()
	if len(got) != 1 || got[0].Field != "jwksKeyRef" || !strings.HasPrefix(got[0].Explanation, "is not supported yet: ") {
		t.Errorf("of a Controller: %v", got)
	}
	if got := (&AccountingSpec{JWKSKeyRef: ref}).IgnoredFields(); len(got) > 0 {
		t.Errorf("of an Accounting, whose slurmdbd has it: %v", got)
	}
}

func TestConditionOfIgnoredFields(t *testing.T) {
	noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	var conditions []metav1.Condition
	if SetFieldsIgnored(&conditions, nil, 1, noon) || len(conditions) > 0 {
		t.Errorf("without ignored fields: got %+v", conditions)
	}
	fields := []IgnoredField{{"a", "is of no use"}, {"b.c", "neither"}}
	if !SetFieldsIgnored(&conditions, fields, 2, noon) ||
		SetFieldsIgnored(&conditions, fields, 2, noon.Add(time.Hour)) {
		t.Error("want exactly one change")
	}
	c := meta.FindStatusCondition(conditions, ConditionFieldsIgnored)
	want := metav1.Condition{
		Type: "FieldsIgnored", Status: "True", Reason: "NotFollowed", Message: "spec.a is of no use; spec.b.c neither",
		ObservedGeneration: 2, LastTransitionTime: metav1.NewTime(noon),
	}
	if c == nil || *c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
	if !SetFieldsIgnored(&conditions, nil, 3, noon) || len(conditions) > 0 {
		t.Errorf("the condition was not removed: %+v", conditions)
	}
}

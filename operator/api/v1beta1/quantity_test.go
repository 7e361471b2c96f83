package v1beta1_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kuberesource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func TestQuantitiesWithLargeExponentsAreRefusedQuickly(t *testing.T) {
	const problem = ": must be a quantity whose exponent has at most three digits"
	for text, want := range map[string]string{
		`{"resources":{"limits":{"cpu":"1e-999999999"}}}`:                                                        "resources.limits.cpu" + problem,
		`{"resources":{"limits":{"cpu":1e-999999999}}}`:                                                          "resources.limits.cpu" + problem,
		`{"resources":{"requests":{"memory":" 1.5E+0999999999 "}}}`:                                              "resources.requests.memory" + problem,
		`{"resources":{"limits":{"cpu":"1\u0065-999999999"}}}`:                                                   "resources.limits.cpu" + problem,
		`{"resources":{"limits":{"cpu":"1e-999999999"}, "limits":{}}}`:                                           "resources.limits.cpu" + problem,
		`{"env":[{"name":"a"},{"valueFrom":{"resourceFieldRef":{"divisor":"1111111111111111111111e9999999"}}}]}`: "env[1].valueFrom.resourceFieldRef.divisor" + problem,
		`{"args":["1e-999999999"],"env":[{"name":"COMMIT","value":"4e99999999"}]}`:                               "",
		`{"resources":{"limits":{"cpu":"1e3","memory":"1e0009"}}}`:                                               "",
	} {
		start := time.Now()
		_, err := newRaw(text).Container()
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s took %s", text, took)
		}
	}
}

// TestEveryQuantityIsChecked puts a large exponent into every quantity field of Kubernetes' types.
func TestEveryQuantityIsChecked(t *testing.T) {
	read := map[reflect.Type]func(v1beta1.Raw) error{
		reflect.TypeFor[corev1.Container]():                 func(r v1beta1.Raw) error { _, err := r.Container(); return err },
		reflect.TypeFor[corev1.PodSpec]():                   func(r v1beta1.Raw) error { _, err := r.PodSpec(); return err },
		reflect.TypeFor[corev1.PersistentVolumeClaimSpec](): func(r v1beta1.Raw) error { _, err := r.ClaimSpec(); return err },
	}
	for typ, reader := range read {
		documents := withQuantity(typ, nil)
		if len(documents) < 2 {
			t.Errorf("%s has only %d quantity fields", typ, len(documents))
		}
		for _, document := range documents {
			text, err := json.Marshal(document)
			if err != nil {
				t.Fatal(err)
			}
			if err := reader(newRaw(string(text))); err == nil || !strings.Contains(err.Error(), "exponent") {
				t.Errorf("%s of %s: %v", text, typ, err)
			}
		}
	}
}

// withQuantity returns a document for each quantity field of the type, with "1e-9999" in that field.
func withQuantity(typ reflect.Type, above []reflect.Type) []any {
	var out []any
	switch {
	case slices.Contains(above, typ):
	case typ == reflect.TypeFor[kuberesource.Quantity]():
		return []any{"1e-9999"}
	case typ.Kind() == reflect.Pointer:
		return withQuantity(typ.Elem(), above)
	case typ.Kind() == reflect.Slice:
		for _, inner := range withQuantity(typ.Elem(), above) {
			out = append(out, []any{inner})
		}
	case typ.Kind() == reflect.Map:
		for _, inner := range withQuantity(typ.Elem(), above) {
			out = append(out, map[string]any{"cpu": inner})
		}
	case typ.Kind() == reflect.Struct:
		for i := range typ.NumField() {
			field := typ.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			for _, inner := range withQuantity(field.Type, append(slices.Clone(above), typ)) {
				if name != "" {
					inner = map[string]any{name: inner}
				}
				out = append(out, inner)
			}
		}
	}
	return out
}

// FuzzReadersOfOpenParts passes any JSON to the reading methods. Every error is a MalformedError, and every
// value survives a round trip.
func FuzzReadersOfOpenParts(f *testing.F) {
	for _, text := range []string{
		`{"image":5}`, `{"ports":[{"containerPort":"a"}]}`, `[[1]]`, `{"resources":{"limits":{"cpu":"1e-999999999"}}}`,
		`{"resources":{"limits":{"cpu":"1\u0065-99999999"}}}`, `{"containers":[{"resources":{"limits":{"memory":"8Gi"}}}]}`,
		`{"volumes":[{"emptyDir":{"sizeLimit":"1e-99999999"}}],"overhead":{"cpu":1E+99999999}}`, `{"labels":{"a":"b"}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		part := newRaw(text)
		start := time.Now()
		container, err := part.Container()
		checkReader(t, text, container, err, v1beta1.Raw.Container)
		pod, err := part.PodSpec()
		checkReader(t, text, pod, err, v1beta1.Raw.PodSpec)
		claim, err := part.ClaimSpec()
		checkReader(t, text, claim, err, v1beta1.Raw.ClaimSpec)
		service, err := part.ServiceSpec()
		checkReader(t, text, service, err, v1beta1.Raw.ServiceSpec)
		meta, err := part.ObjectMeta()
		checkReader(t, text, meta, err, v1beta1.Raw.ObjectMeta)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%q took %s", text, took)
		}
	})
}

func checkReader[T any](t *testing.T, text string, value T, err error, read func(v1beta1.Raw) (T, error)) {
	if err != nil {
		var bad *v1beta1.MalformedError
		if !errors.As(err, &bad) || bad.Problem == "" || !reflect.ValueOf(value).IsZero() {
			t.Errorf("%q: got error %#v with value %v", text, err, value)
		}
		return
	}
	first, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("%q does not marshal: %v", text, err)
	}
	again, err := read(newRaw(string(first)))
	if err != nil {
		t.Fatalf("%q marshals to %s: %v", text, first, err)
	}
	if second, err := json.Marshal(again); err != nil || string(second) != string(first) {
		t.Errorf("%q marshals to %s, and then to %s, %v", text, first, second, err)
	}
}

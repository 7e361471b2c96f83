package v1beta1_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kuberesource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func newRaw(text string) v1beta1.Raw { return v1beta1.Raw{Raw: []byte(text)} }

func TestOpenPartsAreReadAsKubernetesTypes(t *testing.T) {
	got, err := newRaw(`{"image": "slurmd", "new": 1, "securityContext": {"privileged": false}, "resources": {"limits": {"cpu": 4}}}`).Container()
	if err != nil {
		t.Fatal(err)
	}
	if got.Image != "slurmd" || got.SecurityContext == nil || got.SecurityContext.Privileged == nil ||
		*got.SecurityContext.Privileged {
		t.Errorf("got container %+v", got)
	}
	if cpu := got.Resources.Limits.Cpu().Value(); cpu != 4 {
		t.Errorf("got a limit of %d CPUs", cpu)
	}
	pod, err := newRaw(`{"hostNetwork": true, "hostname": "gpu-"}`).PodSpec()
	if err != nil || !pod.HostNetwork || pod.Hostname != "gpu-" {
		t.Errorf("got pod %+v, %v", pod, err)
	}
	service, err := newRaw(`{"type": "NodePort"}`).ServiceSpec()
	if err != nil || service.Type != corev1.ServiceTypeNodePort {
		t.Errorf("got Service %+v, %v", service, err)
	}
	claim, err := newRaw(`{"accessModes": ["ReadWriteOnce"]}`).ClaimSpec()
	if err != nil || len(claim.AccessModes) != 1 {
		t.Errorf("got claim %+v, %v", claim, err)
	}
	meta, err := newRaw(`{"name": "data", "labels": {"a": "b"}}`).ObjectMeta()
	if err != nil || meta.Name != "data" || meta.Labels["a"] != "b" {
		t.Errorf("got metadata %+v, %v", meta, err)
	}
}

func TestAMalformedPartIsAnErrorThatNamesTheField(t *testing.T) {
	container := func(r v1beta1.Raw) error { _, err := r.Container(); return err }
	for _, c := range []struct {
		name, text, want string
	}{
		{"an absent field", ``, ""},
		{"an empty field", `{}`, ""},
		{"unknown fields", `{"new": {"a": 1}}`, ""},
		{"a string for an object", `"slurmd"`, `spec.slurmd: must be an object, not string`},
		{"a number for a string", `{"image": 5}`, `spec.slurmd.image: must be a string, not number`},
		{"an object for a list", `{"args": {"a": "b"}}`, `spec.slurmd.args: must be a list, not object`},
		{"a string for a number, deep inside", `{"ports": [{"containerPort": "6818"}]}`,
			`spec.slurmd.ports[0].containerPort: must be a number, not string`},
		{"a string for a boolean", `{"securityContext": {"privileged": "no"}}`,
			`spec.slurmd.securityContext.privileged: must be true or false, not string`},
		{"a number for a string in a list", `{"args": ["a", 1]}`, `spec.slurmd.args[1]: must be a string, not number`},
		{"a list for an object in a list", `{"env": [{"name": "a"}, []]}`,
			`spec.slurmd.env[1]: must be an object, not array`},
		{"an object for a string, deep inside", `{"env": [{"name": "a"}, {"name": {"a": "b"}}]}`,
			`spec.slurmd.env[1].name: must be a string, not object`},
		{"an empty object for a string", `{"image": {}}`, `spec.slurmd.image: must be a string, not object`},
		{"a string for an object, deep inside", `{"resources": "many"}`,
			`spec.slurmd.resources: must be an object, not string`},
		{"malformed JSON", `{"image": `, `spec.slurmd: unexpected end of JSON input`},
		{"a quantity under a name with dots", `{"resources": {"limits": {"nvidia.com/gpu": "x"}}}`,
			`spec.slurmd.resources.limits.nvidia.com/gpu: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`},
		{"an invalid quantity", `{"resources": {"limits": {"cpu": "many"}}}`,
			`spec.slurmd.resources.limits.cpu: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := v1beta1.InField("spec.slurmd", container(newRaw(c.text)))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			var bad *v1beta1.MalformedError
			if err != nil && !errors.As(err, &bad) {
				t.Errorf("got an error of type %T", err)
			}
		})
	}
}

func TestAVeryLargeMalformedPartIsRefusedQuickly(t *testing.T) {
	deep := newRaw(strings.Repeat(`{"a":`, 5000) + strings.Repeat("}", 5000))
	deep.Raw = append([]byte(`{"image":5,"new":`), append(bytes.Replace(deep.Raw, []byte(`:}`), []byte(`:{}}`), 1),
		'}')...)
	wide := newRaw(`{"args":[` + strings.Repeat(`"a",`, 100_000) + `5]}`)
	for name, r := range map[string]v1beta1.Raw{"deep": deep, "wide": wide} {
		start := time.Now()
		if _, err := r.Container(); err == nil {
			t.Errorf("the %s one was accepted", name)
		}
		// In quadratic time it would be minutes. A loaded machine may take some seconds.
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("the %s one took %s", name, took)
		}
	}
}

func TestOpenPartsStayAsTheyAreWritten(t *testing.T) {
	const text = `{"spec":{"template":{"spec":{"hostname":"","hostNetwork":false,"new":[0]}},"slurmd":{"image":"a","tty":false},"logfile":{}}}`
	written := &v1beta1.NodeSet{}
	if err := json.Unmarshal([]byte(text), written); err != nil {
		t.Fatal(err)
	}
	viaMap, err := runtime.DefaultUnstructuredConverter.ToUnstructured(written)
	if err != nil {
		t.Fatal(err)
	}
	again := &v1beta1.NodeSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(viaMap, again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(written, again); diff != "" {
		t.Errorf("through a map (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(newRaw(`{"hostNetwork": false, "new": [0], "hostname": ""}`),
		again.Spec.Template.Spec); diff != "" {
		t.Errorf("the template's spec (-want +got):\n%s", diff)
	}
	if again.Spec.Logfile.IsZero() || !again.Spec.Slurmd.Equal(newRaw(`{"tty": false, "image": "a"}`)) {
		t.Error("an empty field is lost, or slurmd has changed")
	}
}

func TestAnAbsentPartIsNotWritten(t *testing.T) {
	for _, text := range []string{`{"spec":{}}`, `{"spec":{"slurmd":null}}`} {
		n := &v1beta1.NodeSet{}
		if err := json.Unmarshal([]byte(text), n); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(n.Spec)
		if err != nil || string(out) != "{}" {
			t.Errorf("%s becomes %s, %v", text, out, err)
		}
	}
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{``, ``, true},
		{``, `{}`, false},
		{`{"a":1,"b":2}`, `{"b": 2, "a": 1}`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{`{"a":`, `{"a":`, true},
		{`{"a":`, `{"a":1}`, false},
	} {
		if got := newRaw(c.a).Equal(newRaw(c.b)); got != c.want {
			t.Errorf("%q equals %q: %v", c.a, c.b, got)
		}
	}
}

func TestRawOfAValue(t *testing.T) {
	r, err := v1beta1.RawOf(corev1.Container{Image: "slurmd"})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := r.Container(); err != nil || c.Image != "slurmd" {
		t.Errorf("got %s, %v", r, err)
	}
	if r, err := v1beta1.RawOf((*corev1.Container)(nil)); err != nil || !r.IsZero() {
		t.Errorf("of nil: got %s, %v", r, err)
	}
	if _, err := v1beta1.RawOf(make(chan int)); err == nil {
		t.Error("a channel was accepted")
	}
}

func TestUnknownFieldsOfOpenStructsAreKept(t *testing.T) {
	const text = `{"spec":{"template":{"new":[0],"spec":{}},` +
		`"volumeClaimTemplates":[{"kind":"PersistentVolumeClaim","metadata":{"name":"data"},"none":null}]}}`
	n := &v1beta1.NodeSet{}
	if err := json.Unmarshal([]byte(text), n); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(map[string]any{"spec": n.Spec})
	if err != nil {
		t.Fatal(err)
	}
	if !newRaw(text).Equal(newRaw(string(out))) {
		t.Errorf("got %s", out)
	}
	clone := n.DeepCopy()
	clone.Spec.Template.Extra["new"].Raw[1] = '1'
	if got := n.Spec.Template.Extra["new"].String(); got != "[0]" {
		t.Errorf("changing the copy changed the original: %s", got)
	}
}

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
		reflect.TypeFor[corev1.Container](): func(
			r v1beta1.Raw) error {
			_, err := r.Container()
			return err
		},
		reflect.TypeFor[corev1.PodSpec](): func(
			r v1beta1.Raw) error {
			_, err := r.PodSpec()
			return err
		},
		reflect.TypeFor[corev1.PersistentVolumeClaimSpec](): func(
			r v1beta1.Raw) error {
			_, err := r.ClaimSpec()
			return err
		},
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
		`{"resources":{"limits":{"cpu":"1\u0065-99999999"}}}`,
		`{"containers":[{"resources":{"limits":{"memory":"8Gi"}}}]}`,
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

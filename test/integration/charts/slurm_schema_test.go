package charts

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// fieldNames returns the names of the fields of an object of Kubernetes in JSON.
func fieldNames(object any) []string {
	var out []string
	for field := range reflect.TypeOf(object).Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// TestTheSchemaOfSlurmKnowsTheFieldsOfKubernetes: containers, pods, Services and claims take every field of Kubernetes,
// and no other one.
func TestTheSchemaOfSlurmKnowsTheFieldsOfKubernetes(t *testing.T) {
	type names struct {
		AllOf []struct{ Properties map[string]any }
	}
	var schema struct {
		Defs struct {
			Container, PodSpec, Persistence names
			Service                         struct {
				AllOf []struct{ Properties struct{ Spec names } }
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(readFile(t, filepath.Join(chartDir("slurm"), "values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	defs := schema.Defs
	for _, tc := range []struct {
		name string
		got  names
		want []string
	}{
		{"container", defs.Container, fieldNames(corev1.Container{})},
		{"podSpec", defs.PodSpec, fieldNames(corev1.PodSpec{})},
		{"service", defs.Service.AllOf[0].Properties.Spec, fieldNames(corev1.ServiceSpec{})},
		{"persistence", defs.Persistence,
			append([]string{"enabled", "existingClaim"}, fieldNames(corev1.PersistentVolumeClaimSpec{})...)},
	} {
		slices.Sort(tc.want)
		if diff := cmp.Diff(tc.want, slices.Sorted(maps.Keys(tc.got.AllOf[0].Properties))); diff != "" {
			t.Errorf("%s (-Kubernetes +schema):\n%s", tc.name, diff)
		}
	}
}

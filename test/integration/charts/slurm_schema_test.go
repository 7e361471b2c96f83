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

// TestSchemasKnowTheFieldsOfSecurityContexts: API servers drop a misspelt one without an error.
func TestSchemasKnowTheFieldsOfSecurityContexts(t *testing.T) {
	type fields struct {
		AllOf []struct{ Properties map[string]any }
	}
	for chart, path := range map[string][]string{"slurm": {"$defs"}, "slurm-exporter": {"$defs"}, "slurm-metrics": {"$defs"},
		"slurm-operator": {"$defs"}, "slurm-stack": {"properties", "mariadb", "properties"}} {
		var at json.RawMessage = readFile(t, filepath.Join(chartDir(chart), "values.schema.json"))
		for _, part := range path {
			below := map[string]json.RawMessage{}
			if err := json.Unmarshal(at, &below); err != nil {
				t.Fatal(err)
			}
			at = below[part]
		}
		var of struct{ PodSecurityContext, SecurityContext fields }
		if err := json.Unmarshal(at, &of); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fieldNames(corev1.PodSecurityContext{}), slices.Sorted(maps.Keys(of.PodSecurityContext.AllOf[0].Properties))); diff != "" {
			t.Errorf("%s: podSecurityContext (-Kubernetes +schema):\n%s", chart, diff)
		}
		if diff := cmp.Diff(fieldNames(corev1.SecurityContext{}), slices.Sorted(maps.Keys(of.SecurityContext.AllOf[0].Properties))); diff != "" {
			t.Errorf("%s: securityContext (-Kubernetes +schema):\n%s", chart, diff)
		}
	}
}

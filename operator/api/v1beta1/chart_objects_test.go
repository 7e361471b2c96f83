package v1beta1_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"sigs.k8s.io/yaml"
)

// TestTheObjectsOfTheChartSlurmMatchTheSchemas admits what the chart renders for the values of its tests, of which the
// schemas know every field.
func TestTheObjectsOfTheChartSlurmMatchTheSchemas(t *testing.T) {
	files, err := filepath.Glob("../../../test/integration/charts/testdata/slurm/*.golden.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no golden files: %v", err)
	}
	resources := map[string]*servedResource{}
	for _, plural := range plurals() {
		r := loadResource(t, plural)
		resources[r.crd.Spec.Names.Kind] = r
	}
	seen := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var object, pruned map[string]any
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatal(err)
			}
			kind, _ := object["kind"].(string)
			r, ours := resources[kind]
			if !ours {
				continue
			}
			seen[kind] = true
			r.mustAdmit(t, document)
			if err := yaml.Unmarshal([]byte(document), &pruned); err != nil {
				t.Fatal(err)
			}
			pruning.Prune(pruned, r.structural, true)
			if diff := cmp.Diff(object, pruned); diff != "" {
				t.Errorf("%s: the schema of %s does not know (-rendered +known):\n%s", file, kind, diff)
			}
		}
	}
	if len(seen) < 5 {
		t.Errorf("only these kinds are rendered: %v", seen)
	}
}

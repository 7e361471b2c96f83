package admission_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/operator/admission"
)

// TestTheObjectsOfTheChartSlurmAreAccepted validates the objects that the chart renders for the values of its
// tests.
func TestTheObjectsOfTheChartSlurmAreAccepted(t *testing.T) {
	files, err := filepath.Glob("../../test/integration/charts/testdata/slurm/*.golden.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no golden files: %v", err)
	}
	validators := map[string]func(*testing.T, string) ([]string, field.ErrorList){
		"Accounting": validateText(admission.ValidateAccounting), "Controller": validateText(admission.ValidateController),
		"LoginSet": validateText(admission.ValidateLoginSet), "NodeSet": validateText(admission.ValidateNodeSet),
		"RestApi": validateText(admission.ValidateRestApi),
	}
	// Settings in the values that the operator does not support yet.
	expected := []string{"spec.jwksKeyRef: is not supported yet", "spec.workloadDisruptionProtection: is supported in part"}
	seen := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var object struct{ Kind string }
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatal(err)
			}
			validate, ours := validators[object.Kind]
			if !ours {
				continue
			}
			seen[object.Kind] = true
			warnings, errs := validate(t, document)
			if len(errs) > 0 {
				t.Errorf("%s: %s is refused: %v", file, object.Kind, errs.ToAggregate())
			}
			for _, warning := range warnings {
				if !strings.HasPrefix(warning, expected[0]) && !strings.HasPrefix(warning, expected[1]) {
					t.Errorf("%s: %s: %s", file, object.Kind, warning)
				}
			}
		}
	}
	if len(seen) != len(validators) {
		t.Errorf("only these kinds are rendered: %v", seen)
	}
}

// validateText returns a function that decodes an object strictly and validates it.
func validateText[T any](validate func(old, now *T) ([]string, field.ErrorList)) func(*testing.T, string) ([]string,
	field.ErrorList) {
	return func(t *testing.T, text string) ([]string, field.ErrorList) {
		t.Helper()
		object := new(T)
		if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return validate(nil, object)
	}
}

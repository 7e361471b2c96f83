package holder

import (
	"encoding/json"
	"os"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// newFieldManager returns the API server's manager of the fields of a Token's status, with the schema of our definition.
func newFieldManager(t *testing.T) managedfieldstest.TestFieldManager {
	t.Helper()
	text, err := os.ReadFile("../../charts/slurm-operator-crds/templates/tokens.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema json.RawMessage }
			}
		}
	}
	if err := yaml.Unmarshal(text, &definition); err != nil {
		t.Fatal(err)
	}
	gvk, schema := v1beta1.SchemeGroupVersion.WithKind(v1beta1.KindToken), &spec.Schema{}
	for _, version := range definition.Spec.Versions {
		if version.Name == gvk.Version {
			err = json.Unmarshal(version.Schema.OpenAPIV3Schema, schema)
		}
	}
	if err != nil || len(schema.Properties) == 0 {
		t.Fatalf("the definition has no schema: %v", err)
	}
	schema.AddExtension("x-kubernetes-group-version-kind",
		[]any{map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}})
	converter, err := managedfields.NewTypeConverter(map[string]*spec.Schema{"token": schema}, false)
	if err != nil {
		t.Fatal(err)
	}
	return managedfieldstest.NewTestFieldManagerSubresource(converter, gvk, "status")
}

// TestOurReportLeavesTheEvidence: a report of a hold neither removes the other operator's write nor changes its time,
// even if it overwrites that operator's only condition. A later write of the other operator is detected.
func TestOurReportLeavesTheEvidence(t *testing.T) {
	fields := newFieldManager(t)
	synctest.Test(t, func(t *testing.T) {
		token := &v1beta1.Token{TypeMeta: metav1.TypeMeta{APIVersion: v1beta1.SchemeGroupVersion.String(),
			Kind: v1beta1.KindToken}, ObjectMeta: metav1.ObjectMeta{Name: "t"}}
		write := func(manager string) {
			t.Helper()
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(token)
			if err != nil {
				t.Fatal(err)
			}
			if err := fields.Update(&unstructured.Unstructured{Object: object}, manager); err != nil {
				t.Fatal(err)
			}
			token.ManagedFields = fields.ManagedFields()
		}
		beReady := func(message string) {
			token.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue,
				Reason: "Fine", Message: message, LastTransitionTime: metav1.Now()}}
		}
		report := func() {
			t.Helper()
			if hold, held := Of(time.Now(), token); held {
				SetReady(time.Now(), token, hold)
				write("slurm-operator-token")
			}
		}
		expect := func(reason string) {
			t.Helper()
			if hold, _ := Of(time.Now(), token); hold.Reason != reason {
				t.Errorf("the hold is %+v, not %q; the managed fields are %+v", hold, reason, token.ManagedFields)
			}
		}
		begin := time.Now()
		beReady("first")
		write("fork")
		time.Sleep(30 * time.Minute)
		report()
		if theirs := LastOther(token); theirs.Manager != "fork" || !theirs.At.Equal(begin) {
			t.Errorf("the report makes %+v of the evidence", theirs)
		}
		expect(v1beta1.ReasonHeldByAnotherOperator)
		beReady("second")
		write("fork")
		time.Sleep(40 * time.Minute)
		expect(v1beta1.ReasonHeldByAnotherOperator)
		report()
		time.Sleep(20 * time.Minute)
		expect("") // our report stood for an hour since its last write
		beReady("third")
		write("fork")
		time.Sleep(2 * time.Hour)
		report() // its third write is not reported yet
		expect(v1beta1.ReasonTakingOver)
		time.Sleep(Trial)
		expect("")
	})
}

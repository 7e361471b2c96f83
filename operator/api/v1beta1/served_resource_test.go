package v1beta1_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"text/template"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// templates is the directory of the chart's templates.
const templates = "../../../charts/slurm-operator-crds/templates"

// plurals returns the plural names of the chart's resources.
func plurals() []string {
	return []string{"accountings", "clusters", "controllers", "loginsets", "nodesets", "restapis", "tokens"}
}

// renderTemplate renders a template of the chart as Helm does.
func renderTemplate(t *testing.T, plural string, keep bool) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(templates, plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := template.New(plural).Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := tmpl.Execute(&out, map[string]any{"Values": map[string]any{"keep": keep}}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// parseCRD parses a CustomResourceDefinition as an API server does: unknown fields are errors.
func parseCRD(t *testing.T, text []byte) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		t.Fatal(err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	return crd
}

// storedVersion returns the storage version.
func storedVersion(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Storage {
			return &crd.Spec.Versions[i]
		}
	}
	return nil
}

// servedResource is a definition as an API server serves it.
type servedResource struct {
	crd        *apiextensionsv1.CustomResourceDefinition
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

func loadResource(t *testing.T, plural string) *servedResource {
	t.Helper()
	r := &servedResource{crd: parseCRD(t, renderTemplate(t, plural, true))}
	internal := &apiextensions.CustomResourceDefinition{}
	err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(r.crd, internal, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Normally the API server writes the status of a definition.
	internal.Status.StoredVersions = []string{storedVersion(r.crd).Name}
	if errs := crdvalidation.ValidateCustomResourceDefinition(t.Context(), internal); len(errs) > 0 {
		t.Fatalf("an API server would reject %s: %v", plural, errs.ToAggregate())
	}
	props := schemaOf(t, r.crd)
	if r.structural, err = structuralschema.NewStructural(props); err != nil {
		t.Fatal(err)
	}
	if r.schema, _, err = validation.NewSchemaValidator(props); err != nil {
		t.Fatal(err)
	}
	r.rules = cel.NewValidator(r.structural, true, celconfig.PerCallLimit)
	return r
}

// schemaOf returns the schema of the storage version in the API server's internal form.
func schemaOf(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) *apiextensions.JSONSchemaProps {
	t.Helper()
	out := &apiextensions.JSONSchemaProps{}
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(storedVersion(crd).Schema.OpenAPIV3Schema, out, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// admit processes a manifest as an API server does on creation: it prunes unknown fields, sets defaults,
// and validates the result.
func (r *servedResource) admit(t *testing.T, manifest string) (map[string]any, field.ErrorList) {
	t.Helper()
	obj := map[string]any{}
	if err := yaml.Unmarshal([]byte(manifest), &obj); err != nil {
		t.Fatal(err)
	}
	pruning.Prune(obj, r.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, r.structural)
	defaulting.Default(obj, r.structural)

	errs := validation.ValidateCustomResource(nil, obj, r.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, r.structural, obj)...)
	if len(errs) > 0 {
		return obj, errs // rules are evaluated only on objects that match the schema
	}
	broken, _ := r.rules.Validate(t.Context(), nil, r.structural, obj, nil, celconfig.RuntimeCELCostBudget)
	return obj, broken
}

// mustAdmit is admit for a valid manifest.
func (r *servedResource) mustAdmit(t *testing.T, manifest string) map[string]any {
	t.Helper()
	obj, errs := r.admit(t, manifest)
	if len(errs) > 0 {
		t.Fatalf("refused: %v", errs.ToAggregate())
	}
	return obj
}

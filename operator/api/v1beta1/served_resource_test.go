package v1beta1_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
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
	err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(
		r.crd, internal, nil)
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
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		storedVersion(crd).Schema.OpenAPIV3Schema, out, nil)
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

// admitChange is admit for a manifest that takes the place of another.
func (r *servedResource) admitChange(t *testing.T, old, manifest string) (map[string]any, field.ErrorList) {
	t.Helper()
	before := r.mustAdmit(t, old)
	after, errs := r.admit(t, manifest)
	if len(errs) > 0 {
		return after, errs
	}
	broken, _ := r.rules.Validate(t.Context(), nil, r.structural, after, before, celconfig.RuntimeCELCostBudget)
	return after, broken
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

func TestTheChartContainsOnlyTheDefinitions(t *testing.T) {
	entries, err := os.ReadDir(templates)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	for _, plural := range plurals() {
		want = append(want, plural+".yaml")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("templates (-want +got):\n%s", diff)
	}
}

func TestDefinitionsAreKeptOnUninstallUnlessKeepIsFalse(t *testing.T) {
	const policy = "helm.sh/resource-policy"
	for _, plural := range plurals() {
		if got := parseCRD(t, renderTemplate(t, plural, true)).Annotations[policy]; got != "keep" {
			t.Errorf("%s with keep: the policy is %q", plural, got)
		}
		// Helm's behaviour is undefined for other values, so the annotation must be absent.
		if got, there := parseCRD(t, renderTemplate(t, plural, false)).Annotations[policy]; there {
			t.Errorf("%s without keep: the policy is %q", plural, got)
		}
	}
}

func TestDefinitionsApplyWithoutHelm(t *testing.T) {
	for _, plural := range plurals() {
		text, err := os.ReadFile(templates + "/" + plural + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(parseCRD(t, renderTemplate(t, plural, true)), parseCRD(t, text)); diff != "" {
			t.Errorf("%s: the file differs from what Helm renders (-rendered +file):\n%s", plural, diff)
		}
		// kubectl apply without --server-side keeps a copy in an annotation.
		if limit := 128 << 10; len(text) > limit {
			t.Errorf("%s has %d bytes, want at most %d", plural, len(text), limit)
		}
	}
}

func TestNamesAndVersionsOfDefinitions(t *testing.T) {
	want := map[string]apiextensionsv1.CustomResourceDefinitionNames{
		"nodesets":    {Kind: "NodeSet", ShortNames: []string{"nodesets", "nss", "slurmd"}},
		"controllers": {Kind: "Controller", ShortNames: []string{"slurmctld"}},
		"clusters":    {Kind: "Cluster", ShortNames: []string{"slurmcluster"}},
		"restapis":    {Kind: "RestApi", ShortNames: []string{"slurmrestd"}},
		"accountings": {Kind: "Accounting", ShortNames: []string{"slurmdbd"}},
		"loginsets":   {Kind: "LoginSet", ShortNames: []string{"loginsets", "lss", "sackd"}},
		"tokens":      {Kind: "Token", ShortNames: []string{"tokens", "jwt"}},
	}
	for _, plural := range plurals() {
		crd := loadResource(t, plural).crd
		names := apiextensionsv1.CustomResourceDefinitionNames{
			Kind: crd.Spec.Names.Kind, ShortNames: crd.Spec.Names.ShortNames,
		}
		if diff := cmp.Diff(want[plural], names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", plural, diff)
		}
		if crd.Name != plural+".slinky.slurm.net" || crd.Spec.Group != "slinky.slurm.net" {
			t.Errorf("%s is named %s, group %s", plural, crd.Name, crd.Spec.Group)
		}
		if crd.Spec.Scope != apiextensionsv1.NamespaceScoped {
			t.Errorf("%s is %s", plural, crd.Spec.Scope)
		}
		for _, v := range crd.Spec.Versions {
			if sub := v.Subresources; sub == nil || sub.Status == nil {
				t.Errorf("%s has no status subresource in %s", plural, v.Name)
			}
		}
	}
}

// Without the operator there is no conversion, so the installed definitions serve only the stored version.
func TestDefinitionsServeOnlyTheStoredVersion(t *testing.T) {
	type version struct {
		Name           string
		Served, Stored bool
	}
	beta := version{"v1beta1", true, true}
	for _, plural := range plurals() {
		want := []version{beta}
		if plural == "nodesets" || plural == "clusters" {
			want = []version{{"v1alpha1", false, false}, beta}
		}
		crd := loadResource(t, plural).crd
		var got []version
		for _, v := range crd.Spec.Versions {
			got = append(got, version{v.Name, v.Served, v.Storage})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", plural, diff)
		}
		if c := crd.Spec.Conversion; c == nil || c.Strategy != apiextensionsv1.NoneConverter {
			t.Errorf("%s is converted by %+v", plural, c)
		}
	}
}

func TestVersionsHaveTheSameColumnsAndSubresources(t *testing.T) {
	for _, plural := range plurals() {
		versions := loadResource(t, plural).crd.Spec.Versions
		for _, v := range versions {
			if diff := cmp.Diff(versions[0].AdditionalPrinterColumns, v.AdditionalPrinterColumns); diff != "" {
				t.Errorf("%s: columns of %s (-first +this):\n%s", plural, v.Name, diff)
			}
			if diff := cmp.Diff(versions[0].Subresources, v.Subresources); diff != "" {
				t.Errorf("%s: subresources of %s (-first +this):\n%s", plural, v.Name, diff)
			}
		}
	}
}

func TestOnlyNodeSetsAndLoginSetsScale(t *testing.T) {
	selector := ".status.selector"
	for _, plural := range plurals() {
		var want *apiextensionsv1.CustomResourceSubresourceScale
		if plural == "nodesets" || plural == "loginsets" || plural == "restapis" {
			want = &apiextensionsv1.CustomResourceSubresourceScale{
				SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas",
				LabelSelectorPath: &selector,
			}
		}
		if diff := cmp.Diff(want, storedVersion(loadResource(t, plural).crd).Subresources.Scale); diff != "" {
			t.Errorf("%s (-want +got):\n%s", plural, diff)
		}
	}
}

func TestPrintColumns(t *testing.T) {
	type column struct {
		Name, Type, Path string
		Priority         int32
	}
	age := column{"AGE", "date", ".metadata.creationTimestamp", 0}
	ready := column{"READY", "string", `.status.conditions[?(@.type=="Ready")].status`, 0}
	replicas := column{"REPLICAS", "integer", ".status.replicas", 0}
	want := map[string][]column{
		"nodesets": {
			{"DESIRED", "integer", ".status.desired", 0},
			{"REPLICAS", "integer", ".status.replicas", 0},
			{"UPDATED", "integer", ".status.updatedReplicas", 0},
			{"READY", "integer", ".status.readyReplicas", 0},
			{"IDLE", "integer", ".status.slurmIdle", 1},
			{"ALLOCATED", "integer", ".status.slurmAllocated", 1},
			{"DOWN", "integer", ".status.slurmDown", 1},
			{"DRAIN", "integer", ".status.slurmDrain", 1},
			age,
		},
		"controllers": {ready, age},
		"restapis":    {replicas, ready, age},
		"accountings": {ready, age},
		"loginsets":   {replicas, ready, age},
		"tokens":      {{"USER", "string", ".spec.username", 0}, {"IAT", "date", ".status.issuedAt", 0}, age},
		"clusters": {
			ready,
			{"VERSION", "string", ".status.slurmVersion", 0},
			age,
		},
	}
	for _, plural := range plurals() {
		var got []column
		for _, c := range storedVersion(loadResource(t, plural).crd).AdditionalPrinterColumns {
			got = append(got, column{c.Name, c.Type, c.JSONPath, c.Priority})
		}
		if diff := cmp.Diff(want[plural], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", plural, diff)
		}
	}
}

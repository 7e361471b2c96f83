package v1beta1_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// publicField is a line of testdata/public: a field of Slinky's public schemas, its type and its other
// properties.
type publicField struct {
	path, kind string
	facts      []string
}

// readPublicFields reads a list of testdata/public. Its types are those of JSON Schema and those that
// shared.fields describes.
func readPublicFields(t *testing.T, name string) []publicField {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "public", name+".fields"))
	if err != nil {
		t.Fatal(err)
	}
	var out []publicField
	for line := range strings.Lines(string(text)) {
		path, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.ReplaceAll(strings.TrimSpace(rest), ", nullable", "; nullable")
		rest = strings.ReplaceAll(rest, ", list=", "; list=")
		rest = strings.ReplaceAll(rest, ", open", "; open")
		rest = strings.ReplaceAll(rest, " (open)", "; open")
		if rule, isRule := strings.CutPrefix(rest, "CEL "); isRule {
			out = append(out, publicField{path: path, kind: kindRule, facts: []string{"CEL " + rule}})
			continue
		}
		parts := strings.Split(rest, "; ")
		out = append(out, publicField{path: path, kind: parts[0], facts: parts[1:]})
	}
	return out
}

// looserFacts returns the public facts that our schema does not state, with the reason.
func looserFacts() map[string]string {
	return map[string]string{
		"nodesets spec.controllerRef required":   "clusterRef may be set instead; a rule requires one of them",
		"loginsets spec.sssdConfRef required":    "the Controller may have one instead",
		"nodesets spec.ssh.sssdConfRef required": "the Controller may have one instead",
	}
}

// kindRule is the kind of a line with a rule alone, which says nothing of the fields.
const kindRule = "rule"

// ownFields returns the fields that the public schemas do not have. A manifest without them has its public
// meaning.
func ownFields() map[string][]string {
	return map[string][]string{
		"accountings": {"spec.accounts", "spec.address", "status.hasRun", "status.image", "status.imageReleases", "status.neverRan", "status.nextImage",
			"status.release", "status.restoredState"},
		"controllers": {"spec.address", "spec.sssdConfRef", "status.gresTypes", "status.hasRun", "status.image", "status.imageReleases", "status.neverRan", "status.nextImage", "status.release", "status.restoredState"},
		"loginsets":   {"status.hasRun", "status.image", "status.imageReleases", "status.neverRan", "status.nextImage", "status.release", "status.restoredState"},
		"nodesets": {
			"spec.clusterRef", "spec.cordonKubeNodes", "spec.drainPolicy", "spec.faultDrains",
			"spec.maxReplicas", "spec.securityProfile",
			"spec.updateStrategy.paused", "spec.updateStrategy.rollingUpdate.partition", "status.drainingReplicas",
			"status.hasRun", "status.image", "status.imageReleases", "status.neverRan", "status.nextImage", "status.release",
			"status.restoredState",
		},
		"restapis": {"spec.tls", "status.certificateExpiry", "status.hasRun", "status.image", "status.imageReleases", "status.neverRan", "status.nextImage",
			"status.release", "status.replicas", "status.restoredState", "status.selector", "status.url"},
	}
}

func TestEveryPublicFieldExistsWithTheSameMeaning(t *testing.T) {
	shared := readPublicFields(t, "shared")
	for _, plural := range plurals() {
		if plural == "clusters" {
			continue // a slurmtide extension
		}
		root := storedVersion(loadResource(t, plural).crd).Schema.OpenAPIV3Schema
		c := comparison{t: t, plural: plural, shared: shared, compared: map[string]bool{"spec": true, "status": true}}
		for _, f := range readPublicFields(t, plural) {
			c.compare(f, f.path, *root, strings.Split(f.path, "."))
		}
		var extra []string
		for _, part := range []string{"spec", "status"} {
			extra = append(extra, c.notCompared(part, root.Properties[part])...)
		}
		if diff := cmp.Diff(ownFields()[plural], extra); diff != "" {
			t.Errorf("%s: own fields (-listed +found):\n%s", plural, diff)
		}
		for _, path := range extra {
			if field, required := findField(*root, strings.Split(path, ".")); field == nil || required {
				t.Errorf("%s: the own field %s is required", plural, path)
			}
		}
	}
}

type comparison struct {
	t        *testing.T
	plural   string
	shared   []publicField
	compared map[string]bool
}

// compare finds the field at path below root and compares its type and facts.
func (c *comparison) compare(want publicField, at string, root apiextensionsv1.JSONSchemaProps, path []string) {
	c.t.Helper()
	c.compared[at] = true
	got, required := findField(root, path)
	if got == nil {
		c.t.Errorf("%s: %s is missing", c.plural, at)
		return
	}
	item, isList := strings.CutPrefix(want.kind, "[]")
	if !isList {
		c.compareFacts(want, at, *got, required)
		c.compareKind(want.kind, at, *got)
		return
	}
	if got.Type != "array" || got.Items == nil {
		c.t.Errorf("%s: %s is not a list but %s", c.plural, at, got.Type)
		return
	}
	if i := slices.Index(want.facts, "open"); i >= 0 { // refers to the items
		want.facts = slices.Delete(slices.Clone(want.facts), i, i+1)
		c.compareFacts(publicField{facts: []string{"open"}}, at+"[]", *got.Items.Schema, false)
	}
	c.compareFacts(want, at, *got, required)
	c.compareKind(item, at+"[]", *got.Items.Schema)
}

// compareKind compares a type: one of JSON Schema, or a shared one with its fields.
func (c *comparison) compareKind(kind, at string, got apiextensionsv1.JSONSchemaProps) {
	c.t.Helper()
	switch kind {
	case kindRule:
		return
	case "", "any", "metav1.Condition", "PersistentVolumeClaim":
		c.markAll(at, got)
		return
	case "corev1.Container":
		kind = "object"
	}
	found := false
	for _, f := range c.shared {
		if f.path == kind {
			found = true
			c.compareFacts(publicField{facts: f.facts}, at, got, false)
		}
		if inner, ok := strings.CutPrefix(f.path, kind+"."); ok {
			c.compare(f, at+"."+inner, got, strings.Split(inner, "."))
		}
	}
	if !found && kindOf(got) != kind {
		c.t.Errorf("%s: %s is %s, want %s", c.plural, at, kindOf(got), kind)
	}
}

// compareFacts checks that the field has the public facts, and that it is not required if it is optional
// there.
func (c *comparison) compareFacts(want publicField, at string, got apiextensionsv1.JSONSchemaProps, required bool) {
	c.t.Helper()
	have := schemaFacts(got, required)
	for _, fact := range want.facts {
		if fact == "array" || looserFacts()[c.plural+" "+at+" "+fact] != "" {
			continue
		}
		if quoted, isList := strings.CutPrefix(fact, "one of "); isList {
			fact = `one of "` + strings.ReplaceAll(quoted, ", ", `", "`) + `"`
		}
		if !slices.Contains(have, fact) {
			c.t.Errorf("%s: %s is %v, want %q", c.plural, at, have, fact)
		}
	}
	if want.kind != "" && want.kind != kindRule && required && !slices.Contains(want.facts, "required") {
		c.t.Errorf("%s: %s is required", c.plural, at)
	}
}

// markAll marks a field and everything within it as compared.
func (c *comparison) markAll(at string, s apiextensionsv1.JSONSchemaProps) {
	for _, line := range describeField(at, s, false) {
		path, _, _ := strings.Cut(line, " ")
		c.compared[path] = true
	}
}

// notCompared returns the fields that are not on the lists, without the fields within them.
func (c *comparison) notCompared(at string, s apiextensionsv1.JSONSchemaProps) []string {
	if !c.compared[at] {
		return []string{at}
	}
	var out []string
	for _, name := range sortedKeys(s.Properties) {
		out = append(out, c.notCompared(at+"."+name, s.Properties[name])...)
	}
	if s.Items != nil && s.Items.Schema != nil && len(s.Items.Schema.Properties) > 0 && c.compared[at+"[]"] {
		out = append(out, c.notCompared(at+"[]", *s.Items.Schema)...)
	}
	return out
}

// findField follows a path of properties. It returns nil if the path does not exist.
func findField(s apiextensionsv1.JSONSchemaProps, path []string) (field *apiextensionsv1.JSONSchemaProps,
	required bool) {
	for _, name := range path {
		next, there := s.Properties[name]
		if !there {
			return nil, false
		}
		required = slices.Contains(s.Required, name)
		s = next
	}
	return &s, required
}

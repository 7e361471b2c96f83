package v1beta1_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

var update = flag.Bool("update", false, "rewrite the lists of fields in testdata")

// objects returns the Go types of the resources.
func objects() map[string]any {
	return map[string]any{
		"accountings": v1beta1.Accounting{},
		"clusters":    v1beta1.Cluster{},
		"controllers": v1beta1.Controller{},
		"loginsets":   v1beta1.LoginSet{},
		"nodesets":    v1beta1.NodeSet{},
		"restapis":    v1beta1.RestApi{},
		"tokens":      v1beta1.Token{},
	}
}

// TestFieldsMatchTheReviewedLists compares every field and its schema with a reviewed list: a change of the
// list is a change of the API.
func TestFieldsMatchTheReviewedLists(t *testing.T) {
	for _, plural := range plurals() {
		root := storedVersion(loadResource(t, plural).crd).Schema.OpenAPIV3Schema
		lines := describeField("spec", root.Properties["spec"], slices.Contains(root.Required, "spec"))
		lines = append(lines, describeField("status", root.Properties["status"], false)...)
		got := strings.Join(lines, "\n") + "\n"
		golden := filepath.Join("testdata", plural+".fields")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", plural, diff)
		}
	}
}

// describeField returns a line for a field and for each field within it.
func describeField(path string, s apiextensionsv1.JSONSchemaProps, required bool) []string {
	lines := []string{strings.Join(append([]string{path + " " + kindOf(s)}, schemaFacts(s, required)...), "; ")}
	for _, name := range sortedKeys(s.Properties) {
		lines = append(lines, describeField(path+"."+name, s.Properties[name], slices.Contains(s.Required, name))...)
	}
	if s.Items != nil && s.Items.Schema != nil {
		lines = append(lines, describeField(path+"[]", *s.Items.Schema, false)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		lines = append(lines, describeField(path+"{}", *s.AdditionalProperties.Schema, false)...)
	}
	return lines
}

func kindOf(s apiextensionsv1.JSONSchemaProps) string {
	if s.XIntOrString {
		return "int-or-string"
	}
	return s.Type
}

func schemaFacts(s apiextensionsv1.JSONSchemaProps, required bool) []string {
	var out []string
	add := func(there bool, format string, args ...any) {
		if there {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	add(s.Format != "", "%s", s.Format)
	if s.Default != nil {
		add(true, "default %s", s.Default.Raw)
	}
	var values []string
	for _, v := range s.Enum {
		values = append(values, string(v.Raw))
	}
	add(len(values) > 0, "one of %s", strings.Join(values, ", "))
	add(s.Pattern != "", "pattern %s", s.Pattern)
	if s.Minimum != nil {
		add(true, "minimum %d", int64(*s.Minimum))
	}
	if s.Maximum != nil {
		add(true, "maximum %d", int64(*s.Maximum))
	}
	if s.MinLength != nil {
		add(true, "length at least %d", *s.MinLength)
	}
	if s.MaxLength != nil {
		add(true, "length at most %d", *s.MaxLength)
	}
	add(s.Nullable, "nullable")
	add(required, "required")
	add(s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields, "open")
	if s.XListType != nil {
		add(true, "list=%s", strings.Join(append([]string{*s.XListType}, s.XListMapKeys...), ":"))
	}
	for _, rule := range s.XValidations {
		add(true, "CEL `%s`", rule.Rule)
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func TestSchemaAndGoTypesHaveTheSameFields(t *testing.T) {
	for plural, object := range objects() {
		root := storedVersion(loadResource(t, plural).crd).Schema.OpenAPIV3Schema
		for _, part := range []string{"spec", "status"} {
			inGo := jsonFields(reflect.TypeOf(object))[part]
			compareFields(t, plural+"."+part, inGo, root.Properties[part])
		}
	}
}

// compareFields checks that a Go type and a schema have the same fields, recursively.
func compareFields(t *testing.T, path string, inGo reflect.Type, schema apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	for inGo.Kind() == reflect.Pointer {
		inGo = inGo.Elem()
	}
	if inGo.Kind() == reflect.Slice && schema.Items != nil {
		compareFields(t, path+"[]", inGo.Elem(), *schema.Items.Schema)
		return
	}
	if inGo.Kind() != reflect.Struct || schema.Properties == nil {
		open := schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields
		if schema.Type == "object" && inGo.Kind() != reflect.Map && !open {
			t.Errorf("%s is closed but has no fields", path)
		}
		return
	}
	fields := jsonFields(inGo)
	if diff := cmp.Diff(sortedKeys(fields), sortedKeys(schema.Properties)); diff != "" {
		t.Errorf("%s: fields (-Go +schema):\n%s", path, diff)
	}
	for name, field := range fields {
		compareFields(t, path+"."+name, field, schema.Properties[name])
	}
}

// jsonFields returns the fields of a struct, and of the structs inlined in it, by JSON name.
func jsonFields(inGo reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for f := range inGo.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous:
			for inner, field := range jsonFields(f.Type) {
				out[inner] = field
			}
		case name != "" && name != "-":
			out[name] = f.Type
		}
	}
	return out
}

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// row is a row of a table of fields.
type row struct{ path, kind, meaning string }

// fieldRows returns the row of a field, unless it is spec or status, and the rows of the fields in it.
func fieldRows(path string, s apiextensionsv1.JSONSchemaProps, required bool) []row {
	var out []row
	if strings.Contains(path, ".") || len(s.XValidations) > 0 {
		text := describeField(s, required)
		if whose := borrowedMeaning(path); whose != "" {
			text = whose
		}
		out = append(out, row{path, typeOf(path, s), text})
	}
	if wellKnownType(s, path) != "" || borrowedMeaning(path) != "" {
		return out
	}
	if s.Items != nil && s.Items.Schema != nil {
		if s, path = *s.Items.Schema, path+"[]"; wellKnownType(s, path) != "" {
			return out
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		out = append(out, fieldRows(path+"."+name, s.Properties[name], slices.Contains(s.Required, name))...)
	}
	return out
}

// wellKnownType returns the name of a type of Kubernetes, whose fields are not listed; "" for
// others.
func wellKnownType(s apiextensionsv1.JSONSchemaProps, path string) string {
	names := strings.Join(slices.Sorted(maps.Keys(s.Properties)), " ")
	switch name := path[strings.LastIndex(path, ".")+1:]; {
	case names == "key name optional" && strings.HasPrefix(name, "jwks"):
		return "key of a ConfigMap"
	case names == "key name optional":
		return "key of a Secret"
	case names == "name":
		return "name of an object"
	case name == "conditions":
		return "list of conditions"
	}
	return ""
}

// borrowedMeaning returns where Kubernetes documents a field that we take from its types; "" for
// our own fields.
func borrowedMeaning(path string) string {
	switch {
	case path == "spec.persistence.enabled" || path == "spec.persistence.existingClaim":
		return ""
	case strings.HasPrefix(path, "spec.persistence."):
		return "As in the spec of a PersistentVolumeClaim."
	case strings.HasPrefix(path, "spec.strategy."):
		return "As in the strategy of a Deployment."
	}
	return ""
}

func typeOf(path string, s apiextensionsv1.JSONSchemaProps) string {
	switch name := wellKnownType(s, path); {
	case name != "":
		return name
	case s.XIntOrString:
		return "number or string"
	case s.XPreserveUnknownFields != nil && len(s.Properties) == 0:
		return "object, open"
	case s.Type == "array" && s.Items != nil && s.Items.Schema != nil:
		if name := wellKnownType(*s.Items.Schema, path); name != "" {
			return "list of: " + name
		}
		return "list of " + s.Items.Schema.Type + "s"
	case s.AdditionalProperties != nil:
		return "map of strings"
	case s.Format == "date-time":
		return "time"
	}
	return s.Type
}

// describeField returns the description and the constraints of the schema.
func describeField(s apiextensionsv1.JSONSchemaProps, required bool) string {
	parts := []string{oneLine(s.Description)}
	add := func(there bool, format string, args ...any) {
		if there {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(required, "Required.")
	if s.Default != nil {
		add(string(s.Default.Raw) != `""`, "Default: `%s`.", strings.Trim(string(s.Default.Raw), `"`))
	}
	var values []string
	for _, v := range s.Enum {
		values = append(values, strings.Trim(string(v.Raw), `"`))
	}
	add(len(values) > 0, "One of `%s`.", strings.Join(values, "`, `"))
	if s.Minimum != nil {
		add(true, "At least %d.", int64(*s.Minimum))
	}
	if s.Maximum != nil {
		add(true, "At most %d.", int64(*s.Maximum))
	}
	for _, rule := range s.XValidations {
		add(true, "Rule: %s.", oneLine(rule.Message))
	}
	return strings.Join(parts, " ")
}

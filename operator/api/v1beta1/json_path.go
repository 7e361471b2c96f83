package v1beta1

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// jsonPath leads to a value within a JSON document. Its elements are field names, and indices such as "[0]".
type jsonPath []string

// String formats the path as the API server does in errors ("ports[0].containerPort").
func (p jsonPath) String() string {
	var out strings.Builder
	for i, step := range p {
		if i > 0 && !strings.HasPrefix(step, "[") {
			out.WriteByte('.')
		}
		out.WriteString(step)
	}
	return out.String()
}

// prefixOf returns the prefix of the path with as many names as field, which has no indices.
func (p jsonPath) prefixOf(field string) jsonPath {
	names := 0
	if field != "" {
		names = strings.Count(field, ".") + 1
	}
	for i, step := range p {
		if strings.HasPrefix(step, "[") {
			continue
		}
		if names--; names < 0 {
			return p[:i]
		}
	}
	return p
}

// visitSingleValues calls try with the path of each leaf of value, and with a document that contains only
// that leaf, in order, until try returns true. It reports whether try did.
func visitSingleValues(value any, at jsonPath, try func(at jsonPath, document any) bool) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			wrapped := func(at jsonPath, inner any) bool { return try(at, map[string]any{name: inner}) }
			if visitSingleValues(v[name], append(slices.Clone(at), name), wrapped) {
				return true
			}
		}
		return len(v) == 0 && try(at, v)
	case []any:
		for i, item := range v {
			wrapped := func(at jsonPath, inner any) bool { return try(at, []any{inner}) }
			if visitSingleValues(item, append(slices.Clone(at), "["+strconv.Itoa(i)+"]"), wrapped) {
				return true
			}
		}
		return len(v) == 0 && try(at, v)
	default:
		return try(at, value)
	}
}

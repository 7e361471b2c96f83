package v1beta1

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// MalformedError reports that an open field does not decode as its type.
type MalformedError struct {
	// Path leads to the wrong value as far as it is known: within the open field or, after InField, from
	// the object's root.
	Path string
	// Problem says what is wrong with the value.
	Problem string
}

func (e *MalformedError) Error() string {
	if e.Path == "" {
		return e.Problem
	}
	return e.Path + ": " + e.Problem
}

// InField prefixes the path of a *MalformedError with the path of the open field ("spec.slurmd" before
// "ports[0]"). It wraps any other error and returns nil for nil.
func InField(path string, err error) error {
	var bad *MalformedError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &bad):
		return fmt.Errorf("%s: %w", path, err)
	case bad.Path == "":
		return &MalformedError{Path: path, Problem: bad.Problem}
	default:
		return &MalformedError{Path: path + "." + bad.Path, Problem: bad.Problem}
	}
}

// newMalformedError says what is wrong with a text that does not decode, and where.
func newMalformedError(text []byte, err error, decode func([]byte) error) *MalformedError {
	where, inside := locateMalformed(text, decode)
	if inside != nil {
		err = inside
	}
	var wrong *stdjson.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return &MalformedError{Path: where.String(), Problem: err.Error()}
	}
	if wrong.Value == "object" || wrong.Value == "array" { // the error may name the enclosing value
		where = where.prefixOf(wrong.Field)
	}
	return &MalformedError{Path: where.String(), Problem: "must be " + jsonTypeName(wrong.Type) + ", not " +
		wrong.Value}
}

// locateMalformed finds the first value of a text that does not decode on its own either. It returns nil
// for texts that are too large or too deep to be written by hand.
func locateMalformed(text []byte, decode func([]byte) error) (where jsonPath, err error) {
	const maxTries, maxDepth = 5000, 50
	var whole any
	if json.Unmarshal(text, &whole) != nil {
		return nil, nil
	}
	tries := 0
	visitSingleValues(whole, nil, func(at jsonPath, document any) bool {
		if tries++; tries > maxTries || len(at) > maxDepth {
			return true
		}
		text, marshalErr := stdjson.Marshal(document)
		if marshalErr == nil {
			if err = decode(text); err != nil {
				where = at
			}
		}
		return err != nil
	})
	return where, err
}

// jsonTypeName returns the JSON term for the values of a Go type.
func jsonTypeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Pointer:
		return jsonTypeName(t.Elem())
	default:
		return "a number"
	}
}

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

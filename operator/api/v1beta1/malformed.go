package v1beta1

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/util/json"
)

// MalformedError says that an open part can not be read as what it should be.
type MalformedError struct {
	// Path is the field that is wrong, as far as it is known: within the part, or
	// from the object's root once InField has put the part's own before it.
	Path string
	// Problem is what is wrong with it.
	Problem string
}

func (e *MalformedError) Error() string {
	if e.Path == "" {
		return e.Problem
	}
	return e.Path + ": " + e.Problem
}

// InField returns a reader's error with the path of the part put before the path
// within it ("spec.slurmd" before "ports[0]"). Of any other error it returns one
// that is wrapped; nil stays nil.
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

// malformed says what is wrong with a text that does not decode, and where.
func malformed(text []byte, err error, decode func([]byte) error) *MalformedError {
	where, inside := locate(text, decode)
	if inside != nil {
		err = inside
	}
	var wrong *stdjson.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return &MalformedError{Path: where.String(), Problem: err.Error()}
	}
	if wrong.Value == "object" || wrong.Value == "array" { // it is what the value is in
		where = where.upTo(wrong.Field)
	}
	return &MalformedError{Path: where.String(), Problem: "must be " + nameOf(wrong.Type) + ", not " + wrong.Value}
}

// locate looks for the first value of a text that does not decode by itself either. It
// gives up, with nil, after so many values that nobody wrote the text by hand.
func locate(text []byte, decode func([]byte) error) (where path, err error) {
	const most, deepest = 5000, 50
	var whole any
	if json.Unmarshal(text, &whole) != nil {
		return nil, nil
	}
	tries := 0
	alone(whole, nil, func(at path, document any) bool {
		if tries++; tries > most || len(at) > deepest {
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

// nameOf is what JSON calls values of a Go type.
func nameOf(t reflect.Type) string {
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
		return nameOf(t.Elem())
	default:
		return "a number"
	}
}

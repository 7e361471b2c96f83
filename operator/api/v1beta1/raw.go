package v1beta1

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// Raw is an open part of a spec: an object of one of Kubernetes' own types, kept as
// the JSON that the user wrote. A written false, 0 or "" and fields that we do not
// know survive in it, and one that is malformed spoils nothing but itself: it is an
// error where it is read, not where the object is decoded.
//
// The zero value is an absent part; null is one too. Readers return the zero value
// of their type for it. What they return is lenient about unknown fields, strict
// about types, and the caller's own copy.
//
// +kubebuilder:validation:Type=object
// +kubebuilder:pruning:PreserveUnknownFields
type Raw struct {
	// Raw is the JSON. It is never written to.
	Raw []byte `json:"-"`
}

// RawOf returns the Raw that holds the value, which must marshal to a JSON object or
// to null. What its type leaves out when it is zero is absent in it.
func RawOf(value any) (Raw, error) {
	text, err := stdjson.Marshal(value)
	if err != nil {
		return Raw{}, fmt.Errorf("writing an open field: %w", err)
	}
	var r Raw
	return r, r.UnmarshalJSON(text)
}

// IsZero reports that the part is absent. An empty object is there.
func (r Raw) IsZero() bool { return len(r.Raw) == 0 }

// Equal reports that both say the same, whatever the order of keys and the white
// space. Malformed JSON equals only itself.
func (r Raw) Equal(other Raw) bool {
	if bytes.Equal(r.Raw, other.Raw) {
		return true
	}
	var a, b any
	if json.Unmarshal(r.Raw, &a) != nil || json.Unmarshal(other.Raw, &b) != nil {
		return false
	}
	return reflect.DeepEqual(a, b)
}

// String returns the JSON, for logs and for differences in tests.
func (r Raw) String() string { return string(r.Raw) }

// MarshalJSON implements json.Marshaler.
func (r Raw) MarshalJSON() ([]byte, error) {
	if r.IsZero() {
		return []byte("null"), nil
	}
	return r.Raw, nil
}

// UnmarshalJSON implements json.Unmarshaler. It takes any value: what is no object
// is an error of the readers.
func (r *Raw) UnmarshalJSON(text []byte) error {
	r.Raw = nil
	if text = bytes.TrimSpace(text); !bytes.Equal(text, []byte("null")) {
		r.Raw = bytes.Clone(text)
	}
	return nil
}

// Container reads the part as a Container (core/v1). The error is a *MalformedError.
func (r Raw) Container() (corev1.Container, error) { return read[corev1.Container](r) }

// PodSpec reads the part as a PodSpec (core/v1). The error is a *MalformedError.
func (r Raw) PodSpec() (corev1.PodSpec, error) { return read[corev1.PodSpec](r) }

// ServiceSpec reads the part as a ServiceSpec (core/v1). The error is a *MalformedError.
func (r Raw) ServiceSpec() (corev1.ServiceSpec, error) { return read[corev1.ServiceSpec](r) }

// ClaimSpec reads the part as a PersistentVolumeClaimSpec (core/v1). The error is a
// *MalformedError.
func (r Raw) ClaimSpec() (corev1.PersistentVolumeClaimSpec, error) {
	return read[corev1.PersistentVolumeClaimSpec](r)
}

// ObjectMeta reads the part as an ObjectMeta (meta/v1). The error is a *MalformedError.
func (r Raw) ObjectMeta() (metav1.ObjectMeta, error) { return read[metav1.ObjectMeta](r) }

func read[T any](r Raw) (T, error) {
	var out, none T
	if r.IsZero() {
		return out, nil
	}
	if err := json.Unmarshal(r.Raw, &out); err != nil {
		return none, malformed(err)
	}
	return out, nil
}

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

func malformed(err error) *MalformedError {
	var wrong *stdjson.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return &MalformedError{Path: wrong.Field, Problem: "must be " + nameOf(wrong.Type) + ", not " + wrong.Value}
	}
	return &MalformedError{Problem: err.Error()}
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

package v1beta1

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// Raw is an open field of a spec: an object of one of Kubernetes' own types, stored as the JSON that the
// user wrote. An explicit false, 0 or "" and unknown fields are preserved. Malformed content does not
// prevent decoding of the whole object: the method that reads the field returns the error.
//
// The zero value is an absent field, and so is null. The reading methods return the zero value of their
// type for it. They ignore unknown fields, reject wrong types, and return a copy.
//
// +kubebuilder:validation:Type=object
// +kubebuilder:pruning:PreserveUnknownFields
type Raw struct {
	// Raw is the JSON. It is never modified.
	Raw []byte `json:"-"`
}

// RawOf marshals a value, which must become a JSON object or null. Fields that the type omits when they
// are zero are absent from the result.
func RawOf(value any) (Raw, error) {
	text, err := stdjson.Marshal(value)
	if err != nil {
		return Raw{}, fmt.Errorf("marshalling an open field: %w", err)
	}
	var r Raw
	return r, r.UnmarshalJSON(text)
}

// IsZero reports whether the field is absent. An empty object is not.
func (r Raw) IsZero() bool { return len(r.Raw) == 0 }

// Equal reports whether both are the same JSON value, regardless of the order of keys and of white space.
// Malformed JSON equals only itself.
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

// String returns the JSON, for logs and test diffs.
func (r Raw) String() string { return string(r.Raw) }

// MarshalJSON implements json.Marshaler.
func (r Raw) MarshalJSON() ([]byte, error) {
	if r.IsZero() {
		return []byte("null"), nil
	}
	return r.Raw, nil
}

// UnmarshalJSON implements json.Unmarshaler. It accepts any value. The reading methods reject values that
// are not objects.
func (r *Raw) UnmarshalJSON(text []byte) error {
	r.Raw = nil
	if text = bytes.TrimSpace(text); !bytes.Equal(text, []byte("null")) {
		r.Raw = bytes.Clone(text)
	}
	return nil
}

// Container decodes the field as a Container (core/v1). The error is a *MalformedError.
func (r Raw) Container() (corev1.Container, error) { return readRaw[corev1.Container](r) }

// PodSpec decodes the field as a PodSpec (core/v1). The error is a *MalformedError.
func (r Raw) PodSpec() (corev1.PodSpec, error) { return readRaw[corev1.PodSpec](r) }

// ServiceSpec decodes the field as a ServiceSpec (core/v1). The error is a *MalformedError.
func (r Raw) ServiceSpec() (corev1.ServiceSpec, error) { return readRaw[corev1.ServiceSpec](r) }

// ClaimSpec decodes the field as a PersistentVolumeClaimSpec (core/v1). The error is a *MalformedError.
func (r Raw) ClaimSpec() (corev1.PersistentVolumeClaimSpec, error) {
	return readRaw[corev1.PersistentVolumeClaimSpec](r)
}

// ObjectMeta decodes the field as an ObjectMeta (meta/v1). The error is a *MalformedError.
func (r Raw) ObjectMeta() (metav1.ObjectMeta, error) { return readRaw[metav1.ObjectMeta](r) }

func readRaw[T any](r Raw) (T, error) {
	var out, none T
	if r.IsZero() {
		return out, nil
	}
	if bad := checkQuantities(r.Raw); bad != nil {
		return none, bad
	}
	if err := json.Unmarshal(r.Raw, &out); err != nil {
		return none, newMalformedError(r.Raw, err, func(text []byte) error { return json.Unmarshal(text, new(T)) })
	}
	return out, nil
}

// marshalOpen marshals known, and adds the fields in extra.
func marshalOpen(known any, extra map[string]Raw) ([]byte, error) {
	text, err := stdjson.Marshal(known)
	if err != nil || len(extra) == 0 {
		return text, err
	}
	all := map[string]Raw{}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	maps.Copy(all, extra)
	return stdjson.Marshal(all)
}

// unmarshalOpen unmarshals text into known. It returns the fields that are not among names, or nil if
// there are none.
func unmarshalOpen(text []byte, known any, names ...string) (map[string]Raw, error) {
	if err := json.Unmarshal(text, known); err != nil {
		return nil, err
	}
	var extra map[string]Raw
	if err := json.Unmarshal(text, &extra); err != nil {
		return nil, err
	}
	for _, name := range names {
		delete(extra, name)
	}
	if len(extra) == 0 {
		return nil, nil
	}
	return extra, nil
}

package v1beta1

import (
	"bytes"
	stdjson "encoding/json"
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
	if bad := checkQuantities(r.Raw); bad != nil {
		return none, bad
	}
	if err := json.Unmarshal(r.Raw, &out); err != nil {
		return none, malformed(r.Raw, err, func(text []byte) error { return json.Unmarshal(text, new(T)) })
	}
	return out, nil
}

package wakeup

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// zeroOrigin is the origin of a NodeSet's zero replicas.
type zeroOrigin int

const (
	// zeroByHand: through the scale subresource, by an unknown client.
	zeroByHand zeroOrigin = iota
	// zeroByManifest: by a write of the object itself, such as its creation.
	zeroByManifest
	// zeroByAutoscaler: by an HPA or by us; the zero is claimed.
	zeroByAutoscaler
)

// zeroOriginOf determines the origin of a NodeSet's zero from its managed fields. The API server makes the
// writer of another value the only owner of spec.replicas. A zero that kubectl or an HPA writes through the
// scale subresource has no owner, since Scale omits a zero. A later value written that way has no owner
// either, until the object itself is written. Therefore we claim the zeros of autoscalers. A claim ends with
// the next other value.
func zeroOriginOf(entries []metav1.ManagedFieldsEntry) zeroOrigin {
	var claimed, scaled, written bool
	for _, e := range entries {
		if ownsReplicas(e.FieldsV1) {
			claimed = claimed || e.Manager == FieldManager
			scaled = scaled || e.Subresource == "scale" // a later API server may record it
			written = true
		}
	}
	switch {
	case claimed:
		return zeroByAutoscaler
	case scaled || !written:
		return zeroByHand
	}
	return zeroByManifest
}

// ownsReplicas reports whether spec.replicas is among the fields.
func ownsReplicas(fields *metav1.FieldsV1) bool {
	var owned struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	// Fields that cannot be decoded name no owner.
	err := json.NewDecoder(fields.GetRawReader()).Decode(&owned)
	_, owns := owned.Spec["f:replicas"]
	return err == nil && owns
}

package wakeup

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// zeroOrigin says how the replicas of a NodeSet came to be zero.
type zeroOrigin int

const (
	// byHand: through the scale subresource, by somebody who is not known.
	zeroByHand zeroOrigin = iota
	// byManifest: by a write of the object itself, such as its creation.
	zeroByManifest
	// byAutoscaler: by an HPA or by us; the zero is claimed.
	zeroByAutoscaler
)

// zeroOriginOf reads from its managed fields where the zero of a NodeSet comes from. The
// API server makes who writes another value the owner of spec.replicas, and takes the
// field from all others. But a zero that comes through the scale subresource, be it
// from kubectl or from an HPA, has no owner, since Scale leaves out a zero (and so has
// what comes that way later, until the object itself is written). Hence we claim the
// zeros of autoscalers; a claim falls with the next other value.
func zeroOriginOf(entries []metav1.ManagedFieldsEntry) zeroOrigin {
	var claimed, scaled, written bool
	for _, e := range entries {
		if ownsReplicas(e.FieldsV1) {
			claimed = claimed || e.Manager == FieldManager
			scaled = scaled || e.Subresource == "scale" // an API server may tell one day
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
		Spec struct {
			Replicas *struct{} `json:"f:replicas"`
		} `json:"f:spec"`
	}
	// What cannot be read names no owner.
	err := json.NewDecoder(fields.GetRawReader()).Decode(&owned)
	return err == nil && owned.Spec.Replicas != nil
}

package wakeup

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// origin says how the replicas of a NodeSet came to be zero.
type origin int

const (
	// byHand: through the scale subresource, by somebody who is not known.
	byHand origin = iota
	// byManifest: by a write of the object itself, such as its creation.
	byManifest
	// byAutoscaler: by an HPA or by us; the zero is claimed.
	byAutoscaler
)

// originOf reads from its managed fields where the zero of a NodeSet comes from. The
// API server makes who writes another value the owner of spec.replicas, and takes the
// field from all others. But a zero that comes through the scale subresource, be it
// from kubectl or from an HPA, has no owner, since Scale leaves out a zero (and so has
// what comes that way later, until the object itself is written). Hence we claim the
// zeros of autoscalers; a claim falls with the next other value.
func originOf(entries []metav1.ManagedFieldsEntry) origin {
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
		return byAutoscaler
	case scaled || !written:
		return byHand
	}
	return byManifest
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

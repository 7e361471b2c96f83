package wakeup

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// scaledBy returns the field managers that set spec.replicas to what it is now
// through the scale subresource. The API server keeps this: who writes another
// value becomes the owner of it and others stop being owners; who writes the same
// value does not. A manager that applied the object (Helm, GitOps, kubectl apply)
// owns the field without a subresource and is not returned.
func scaledBy(entries []metav1.ManagedFieldsEntry) []string {
	var managers []string
	for _, e := range entries {
		if e.Subresource == "scale" && ownsReplicas(e.FieldsV1) {
			managers = append(managers, e.Manager)
		}
	}
	return managers
}

// ownsReplicas reports whether spec.replicas is among the fields.
func ownsReplicas(fields *metav1.FieldsV1) bool {
	var owned struct {
		Spec struct {
			Replicas *struct{} `json:"f:replicas"`
		} `json:"f:spec"`
	}
	// What cannot be read names no owner: the value then counts as the manifest's.
	err := json.NewDecoder(fields.GetRawReader()).Decode(&owned)
	return err == nil && owned.Spec.Replicas != nil
}

package holder

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ChangedTemplate reports whether Slinky's operator has changed the pod template of our workload, as it does with workloads
// that it finds after our operator was uninstalled. Our next write ends that.
func ChangedTemplate(workload metav1.Object) bool {
	var theirs, ours time.Time
	for _, e := range workload.GetManagedFields() {
		if e.Subresource != "" || e.Time == nil || !ownsTemplate(e.FieldsV1) {
			continue
		}
		switch {
		case strings.HasPrefix(e.Manager, ownPrefix) && e.Time.After(ours):
			ours = e.Time.Time
		case slices.Contains(slinkyManagers, e.Manager) && e.Time.After(theirs):
			theirs = e.Time.Time
		}
	}
	return theirs.After(ours)
}

// ownsTemplate reports whether fields contain one of the pod template.
func ownsTemplate(fields *metav1.FieldsV1) bool {
	if fields == nil {
		return false
	}
	var owned struct {
		Spec struct {
			Template json.RawMessage `json:"f:template"`
		} `json:"f:spec"`
	}
	return json.NewDecoder(fields.GetRawReader()).Decode(&owned) == nil && owned.Spec.Template != nil
}

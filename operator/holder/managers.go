package holder

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ownPrefix begins the field managers of all our reconcilers, in every release.
const ownPrefix = "slurm-operator-"

// slinkyManagers are the field managers of Slinky's slurm-operator: the names of its program.
var slinkyManagers = []string{"manager", "slurm-operator"}

// toolPrefixes are the prefixes of field managers for tools that write a status for a user: kubectl, such as "kubectl
// edit --subresource=status", and Velero, which restores it.
var toolPrefixes = []string{"kubectl", "velero"}

// Write is the last write of a field manager.
type Write struct {
	Manager string
	At      time.Time
}

// LastOther returns the last write of another operator. Its manager is empty if no other operator wrote.
func LastOther(o metav1.Object) Write {
	operators := map[string]bool{}
	for _, e := range o.GetManagedFields() {
		if isOperator(&e) {
			operators[e.Manager] = true
		}
	}
	var out Write
	for _, e := range o.GetManagedFields() {
		// An operator's writes of the specification and of finalizers count as well.
		if operators[e.Manager] && e.Time != nil && (out.Manager == "" || e.Time.After(out.At)) {
			out = Write{e.Manager, e.Time.Time}
		}
	}
	return out
}

// LastOwn returns when one of our reconcilers last wrote the status of an object, zero for never.
func LastOwn(o metav1.Object) time.Time {
	var out time.Time
	for _, e := range o.GetManagedFields() {
		if strings.HasPrefix(e.Manager, ownPrefix) && e.Subresource == "status" && e.Time != nil && e.Time.After(out) {
			out = e.Time.Time
		}
	}
	return out
}

// isOperator reports whether an entry shows that its manager is another operator of our kinds.
func isOperator(e *metav1.ManagedFieldsEntry) bool {
	switch {
	case e.Subresource != "status", strings.HasPrefix(e.Manager, ownPrefix),
		slices.ContainsFunc(toolPrefixes, func(p string) bool { return strings.HasPrefix(e.Manager, p) }):
		return false
	case slices.Contains(slinkyManagers, e.Manager):
		return true
	}
	return ownsOurStatus(e.FieldsV1)
}

// ownsOurStatus reports whether fields contain a field that only an operator of our kinds writes: a field of the
// status other than conditions, or the condition Ready. Platforms may add their own conditions.
func ownsOurStatus(fields *metav1.FieldsV1) bool {
	if fields == nil {
		return false
	}
	var owned struct {
		Status map[string]json.RawMessage `json:"f:status"`
	}
	if json.NewDecoder(fields.GetRawReader()).Decode(&owned) != nil {
		return true // the writer is unknown
	}
	var conditions map[string]json.RawMessage
	_ = json.Unmarshal(owned.Status["f:conditions"], &conditions) // absent for none
	if _, ready := conditions[`k:{"type":"Ready"}`]; ready {
		return true
	}
	delete(owned.Status, "f:conditions")
	delete(owned.Status, ".")
	return len(owned.Status) > 0
}

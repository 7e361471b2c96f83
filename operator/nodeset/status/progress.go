package status

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// IsOnlyProgress reports whether only intermediate counts, and the messages of conditions that
// contain them, differ: no condition changes, and no count reaches its goal.
func IsOnlyProgress(from, to *v1beta1.NodeSetStatus) bool {
	plain := func(s *v1beta1.NodeSetStatus) v1beta1.NodeSetStatus {
		out := *s.DeepCopy()
		for _, n := range countFields(&out) {
			*n = 0
		}
		for i := range out.Conditions {
			out.Conditions[i].Message, out.Conditions[i].LastTransitionTime = "", metav1.Time{}
		}
		return out
	}
	was, is := countFields(from), countFields(to)
	for i := range is {
		if *is[i] != *was[i] && (*is[i] == to.Desired || *is[i] == 0) {
			return false
		}
	}
	return apiequality.Semantic.DeepEqual(plain(from), plain(to))
}

// countFields returns the counts of workers in a status.
func countFields(s *v1beta1.NodeSetStatus) []*int32 {
	return []*int32{
		&s.Replicas, &s.UpdatedReplicas, &s.ReadyReplicas, &s.AvailableReplicas, &s.UnavailableReplicas,
		&s.DrainingReplicas,
		&s.SlurmIdle, &s.SlurmAllocated, &s.SlurmDown, &s.SlurmDrain,
	}
}

// RequiredFields returns the fields that every valid status needs, and the counts that kubectl
// should show as 0 for a NodeSet at zero.
func RequiredFields(n *v1beta1.NodeSet) map[string]any {
	return map[string]any{
		"selector": n.Status.Selector, "nodeSetHash": n.Status.NodeSetHash,
		"desired": n.Status.Desired, "replicas": n.Status.Replicas,
		"updatedReplicas": n.Status.UpdatedReplicas, "readyReplicas": n.Status.ReadyReplicas,
	}
}

package nodeset

import (
	"context"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// patchStatus writes the status if it differs. A process that has just started writes none before
// it has read Slurm, or knows why it cannot: its predecessor knew more.
func (r *Reconciler) patchStatus(ctx context.Context, s *observation, actions *plan.Actions) error {
	if s.awaitsFirstReading() && s.nodeSet.Status.Selector != "" {
		return nil
	}
	status := statusOf(r.now(), s, actions)
	status.OrdinalToNode = ordinalPins(s)
	r.emitWaitEvents(s, actions)
	r.emitMismatchEvent(s)
	if apiequality.Semantic.DeepEqual(status, s.nodeSet.Status) {
		return nil
	}
	if wait := s.expectations.statusWrittenAt.Add(statusInterval).Sub(r.now()); wait > 0 &&
		isOnlyProgress(&s.nodeSet.Status, &status) {
		s.requeueAfter(wait)
		return nil
	}
	s.expectations.statusWrittenAt = r.now()
	written := s.nodeSet.DeepCopy()
	written.Status = status
	err := kube.PatchStatus(ctx, r.client, s.nodeSet, written, requiredFields(written), client.FieldOwner(FieldManager))
	if err != nil {
		return ignoreNotFound(err)
	}
	s.nodeSet.ResourceVersion = written.ResourceVersion
	return nil
}

// statusInterval is how often a status is written that shows only progress. Otherwise a thousand
// starting workers would cause a hundred writes.
const statusInterval = time.Second

// isOnlyProgress reports whether only intermediate counts, and the messages of conditions that
// contain them, differ: no condition changes, and no count reaches its goal.
func isOnlyProgress(from, to *v1beta1.NodeSetStatus) bool {
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

// requiredFields returns the fields that every valid status needs, and the counts that kubectl
// should show as 0 for a NodeSet at zero.
func requiredFields(n *v1beta1.NodeSet) map[string]any {
	return map[string]any{
		"selector": n.Status.Selector, "nodeSetHash": n.Status.NodeSetHash,
		"desired": n.Status.Desired, "replicas": n.Status.Replicas,
		"updatedReplicas": n.Status.UpdatedReplicas, "readyReplicas": n.Status.ReadyReplicas,
	}
}

package nodeset

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
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
	data, err := statusPatch(s.nodeSet, written)
	if err != nil {
		return err
	}
	if err := r.client.Status().Patch(ctx, written, client.RawPatch(types.MergePatchType, data),
		client.FieldOwner(FieldManager)); err != nil {
		return ignoreNotFound(fmt.Errorf("writing the status of nodeset %s: %w", s.nodeSet.Name, err))
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

// statusPatch returns the merge patch from one status to another. It contains only what differs,
// with null for what became empty, and the fields that every valid status needs. It applies only to
// the observed version, because others keep conditions in the same list.
func statusPatch(from, to *v1beta1.NodeSet) ([]byte, error) {
	data, err := client.MergeFromWithOptions(from, client.MergeFromWithOptimisticLock{}).Data(to)
	if err != nil {
		return nil, fmt.Errorf("comparing statuses: %w", err)
	}
	patch := map[string]any{}
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, fmt.Errorf("comparing statuses: %w", err)
	}
	status, _ := patch["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
	}
	status["selector"], status["nodeSetHash"] = to.Status.Selector, to.Status.NodeSetHash
	// kubectl should show 0 for a NodeSet at zero, not nothing.
	status["desired"], status["replicas"] = to.Status.Desired, to.Status.Replicas
	status["updatedReplicas"], status["readyReplicas"] = to.Status.UpdatedReplicas, to.Status.ReadyReplicas
	patch["status"] = status
	return json.Marshal(patch)
}

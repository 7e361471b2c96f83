package nodeset

import (
	"context"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/status"
)

// patchStatus writes the status if it differs. A process that has just started writes no status before it has
// read Slurm, or has the reason why it cannot: the status of its predecessor had more information.
func (r *Reconciler) patchStatus(ctx context.Context, s *observation, actions *plan.Actions) error {
	if s.awaitsFirstReading() && s.nodeSet.Status.Selector != "" {
		return nil
	}
	written := s.nodeSet.DeepCopy()
	written.Status = status.Of(r.now(), s.statusObservation(), actions)
	written.Status.OrdinalToNode = s.pins()
	s.release.Record(written, r.now())
	r.emitWaitEvents(s, actions)
	r.emitMismatchEvent(s)
	if apiequality.Semantic.DeepEqual(written.Status, s.nodeSet.Status) {
		return nil
	}
	if wait := s.expectations.StatusWrittenAt.Add(statusInterval).Sub(r.now()); wait > 0 &&
		status.IsOnlyProgress(&s.nodeSet.Status, &written.Status) {
		s.requeueAfter(wait)
		return nil
	}
	s.expectations.StatusWrittenAt = r.now()
	err := kube.PatchStatus(ctx, r.client, s.nodeSet, written, status.RequiredFields(written),
		client.FieldOwner(FieldManager))
	if err != nil {
		return ignoreNotFound(err)
	}
	r.guard.RecordEvent(s.nodeSet, s.release)
	s.nodeSet.ResourceVersion = written.ResourceVersion
	return nil
}

// statusInterval is the interval of status writes that only show progress. Otherwise a thousand starting
// workers would cause a hundred writes.
const statusInterval = time.Second

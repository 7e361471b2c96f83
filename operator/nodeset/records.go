package nodeset

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slurmtide/slurmtide/operator/api/shape"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// recordsRetry is how long making FUTURE records is left alone after it failed.
const recordsRetry = time.Minute

// makeRecords makes FUTURE records, by which jobs can be submitted while there are no
// workers, and writes on them whose they are. That it fails is a condition, and is tried
// again after a while; it keeps nothing else from being done.
func (r *Reconciler) makeRecords(ctx context.Context, s *seen, step plan.Step) error {
	if s.memory.recordsProblem != "" && r.now().Before(s.memory.recordsTried.Add(recordsRetry)) {
		return nil
	}
	names := hostlist.Compress(step.Names)
	err := r.tryRecords(ctx, s, names)
	at := r.now()
	s.memory.recordsTried, s.memory.recordsProblem = at, ""
	if err != nil {
		s.memory.recordsProblem = fmt.Sprintf("making records of %s: %v", names, err)
	}
	s.recordsProblem = s.memory.recordsProblem
	if err != nil {
		log.FromContext(ctx).Error(err, "making future records", "slurmNode", names)
		return nil
	}
	r.memory.wrote(s.memory, step.Names, plan.Records, at)
	log.FromContext(ctx).Info("made future records", "slurmNode", names)
	return nil
}

func (r *Reconciler) tryRecords(ctx context.Context, s *seen, names string) error {
	have, known := shape.Of(s.nodeSet)
	if !known {
		return fmt.Errorf("what a worker has is not known")
	}
	if err := s.live.CreateNodes(ctx, names, render.FutureOptions(s.input, have)); err != nil {
		return err
	}
	owner := render.FutureComment(s.nodeSet)
	return s.live.UpdateNode(ctx, names, slurmclient.NodeUpdate{Comment: &owner})
}

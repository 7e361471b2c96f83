package nodeset

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slurmtide/slurmtide/operator/api/shape"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// recordsRetry is the pause after a failed creation of FUTURE records.
const recordsRetry = time.Minute

// createRecords creates FUTURE records, with which jobs can be submitted while there are no
// workers, and writes their owner. A failure becomes a condition and is retried after recordsRetry.
// It blocks nothing else.
func (r *Reconciler) makeRecords(ctx context.Context, s *seen, step plan.Step) error {
	if s.memory.recordsProblem != "" && r.now().Before(s.memory.recordsTried.Add(recordsRetry)) {
		return nil
	}
	names := hostlist.Compress(step.Names)
	err := r.tryRecords(ctx, s, names)
	at := r.now()
	s.memory.recordsTried, s.memory.recordsProblem = at, ""
	if err != nil {
		s.memory.recordsProblem = fmt.Sprintf("creating records of %s: %v", names, err)
	}
	s.recordsProblem = s.memory.recordsProblem
	if err != nil {
		log.FromContext(ctx).Error(err, "creating future records", "slurmNode", names)
		return nil
	}
	r.memory.wrote(s.memory, step.Names, plan.Records, at)
	log.FromContext(ctx).Info("created future records", "slurmNode", names)
	return nil
}

// isUnmarkedRecord reports whether a FUTURE record is one that we created although it has no owner:
// the process may have been killed between the two writes.
func (s *seen) unclaimed(name string) bool {
	n := s.records[name]
	return n != nil && n.State.Base == slurm.NodeFuture && n.Comment == "" && slices.Contains(n.Features, s.nodeSet.Name)
}

// assumeOwnership treats unmarked records of workers as the NodeSet's own.
func (s *seen) own() {
	for name, record := range s.slurm.Records {
		if record.Owner == "" && s.unclaimed(name) {
			record.Owner = string(s.nodeSet.UID)
			s.slurm.Records[name] = record
		}
	}
}

// adoptRecords writes the owner on unmarked records.
func (r *Reconciler) claim(ctx context.Context, s *seen) error {
	if !s.slurm.Fresh || s.desired.Deleting {
		return nil
	}
	var names []string
	for name, record := range s.slurm.Records {
		if _, written := s.memory.writes[name]; record.Future && !written && s.unclaimed(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	owner := render.FutureComment(s.nodeSet, s.namespaceUID)
	if err := s.live.UpdateNode(ctx, hostlist.Compress(names), slurmclient.NodeUpdate{Comment: &owner}); err != nil {
		return fmt.Errorf("adopting records of nodeset %s: %w", s.nodeSet.Name, err)
	}
	r.memory.wrote(s.memory, names, plan.Records, r.now())
	return nil
}

func (r *Reconciler) tryRecords(ctx context.Context, s *seen, names string) error {
	have, known := shape.Of(s.nodeSet)
	if !known {
		return fmt.Errorf("the resources of a worker are not known")
	}
	if err := s.live.CreateNodes(ctx, names, render.FutureOptions(s.input, have)); err != nil {
		return err
	}
	owner := render.FutureComment(s.nodeSet, s.namespaceUID)
	return s.live.UpdateNode(ctx, names, slurmclient.NodeUpdate{Comment: &owner})
}

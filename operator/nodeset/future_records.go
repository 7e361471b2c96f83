package nodeset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/comment"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/operator/shape"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// The pause after a failed creation of FUTURE records is recordsRetry at first, since slurmctld may be starting, and
// doubles with each failure, up to recordsRetryMost.
const (
	recordsRetry     = 10 * time.Second
	recordsRetryMost = time.Minute
)

// recordsPause returns the pause after a number of failures.
func recordsPause(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	return min(recordsRetry<<min(failures-1, 10), recordsRetryMost)
}

// createRecords creates FUTURE records, so that jobs can be submitted without workers, and writes their owner. A failure
// becomes a condition and is retried after recordsPause. It blocks nothing else.
func (r *Reconciler) createRecords(ctx context.Context, s *observation, step plan.Step) error {
	seen := s.expectations
	if r.now().Before(seen.RecordsTriedAt.Add(recordsPause(seen.RecordsFailures))) {
		return nil
	}
	names := hostlist.Compress(step.Names)
	err := r.createOwnedRecords(ctx, s, step.Names, step.Revision)
	at := r.now()
	if err == nil || cannotCreateRecords(err) { // other errors do not show whether records can be created
		seen.RecordsUnsupported = err != nil
	}
	seen.RecordsTriedAt, seen.RecordsProblem, seen.RecordsFailures = at, "", seen.RecordsFailures+1
	if err == nil {
		seen.RecordsFailures = 0
	} else {
		seen.RecordsProblem = fmt.Sprintf("creating records of %s: %v", names, err)
	}
	s.recordsProblem = seen.RecordsProblem
	if err != nil {
		log.FromContext(ctx).Error(err, "creating future records", "slurmNode", names)
		return nil
	}
	r.expectations.ExpectWrite(seen, step.Names, plan.CreateRecords, at)
	log.FromContext(ctx).Info("created future records", "slurmNode", names)
	return nil
}

// cannotCreateRecords reports whether an error means that records can never be created here, not only now.
func cannotCreateRecords(err error) bool {
	var none *slurmclients.NoPodError
	if errors.As(err, &none) {
		return none.Forbidden || none.Key.Kind != v1beta1.KindController
	}
	return slurmclient.CodeOf(err) == slurmclient.CodeUnsupported
}

// isUnmarkedRecord reports whether we created a FUTURE record although it has no owner: the process may have been killed
// between the two writes.
func (s *observation) isUnmarkedRecord(name string) bool {
	n := s.slurmNodes[name]
	return n != nil && n.State.Base == slurm.NodeFuture && n.Comment == "" &&
		slices.Contains(n.Features, s.nodeSet.Name)
}

// assumeOwnership treats unmarked records of workers as the NodeSet's own.
func (s *observation) assumeOwnership() {
	for name, record := range s.slurm.Records {
		if record.OwnerUID == "" && s.isUnmarkedRecord(name) {
			record.OwnerUID = string(s.nodeSet.UID)
			s.slurm.Records[name] = record
		}
	}
}

// createOwnedRecords creates records with the shape of a revision, the newest if it is empty, and writes their owner and
// their GRES.
func (r *Reconciler) createOwnedRecords(ctx context.Context, s *observation, names []string, revision string) error {
	from, err := s.workerSourceOf(cmp.Or(revision, s.revision.Hash))
	if err != nil {
		return err
	}
	have, known := shape.OfNodeSet(from.input.NodeSet)
	if !known {
		return fmt.Errorf("the resources of a worker are not known")
	}
	options := render.FutureOptions(from.input, have)
	if err := s.slurmCluster.CreateNodes(ctx, hostlist.Compress(names), options); err != nil {
		return err
	}
	want := observed.RecordShapeOf(options)
	update := s.recordUpdateOf(slurmclient.NodeUpdate{}, comment.Comment{Shape: want.HashWithoutGRES()}, want, want.GRES() != nil)
	return r.updateRecords(ctx, s, names, update)
}

// clearPod removes the pod from the comment of a Slurm node.
func (s *observation) clearPod(ctx context.Context, slurmName string) error {
	node := s.slurmNodes[slurmName]
	if node == nil {
		return errNotAsSeen
	}
	note, _ := comment.Parse(node.Comment)
	text := comment.WithoutPod(s.nodeSet, s.namespaceUID, note)
	return s.slurmCluster.UpdateNode(ctx, slurmName, slurmclient.NodeUpdate{Comment: &text})
}

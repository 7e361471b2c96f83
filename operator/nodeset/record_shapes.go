package nodeset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slurmtide/slurmtide/operator/nodeset/comment"
	"github.com/slurmtide/slurmtide/operator/nodeset/expectations"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/operator/shape"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// recordShape returns the shape that records of the NodeSet's workers should have. It is not known while workers cannot
// be rendered.
func (s *observation) recordShape() observed.RecordShape {
	if s.problem.Reason != "" {
		return observed.RecordShape{}
	}
	out := recordShapeOf(s.input)
	out.KnowsKinds = s.knowsGRES
	return out
}

func recordShapeOf(in render.Input) observed.RecordShape {
	have, _ := shape.OfNodeSet(in.NodeSet)
	return observed.RecordShapeOf(render.FutureOptions(in, have))
}

// recordShapeFor returns the shape that the record of a step must match. A worker created from an old revision has that
// revision's shape.
func (s *observation) recordShapeFor(step plan.Step) observed.RecordShape {
	if step.Verb == plan.CreatePod && step.Revision != s.revision.Hash && s.problem.Reason == "" {
		if from, err := s.workerSourceOf(step.Revision); err == nil {
			return recordShapeOf(from.input)
		}
	}
	return s.recordShape()
}

// compareShapes compares the records with the shape of the NodeSet. It marks two kinds of records to be written: equal
// records whose comment lacks the hash of the shape, and FUTURE records with other features or unwritten GRES.
func (s *observation) compareShapes(now time.Time) {
	want := s.recordShape()
	for name, record := range s.slurm.Records {
		n := s.slurmNodes[name]
		if n == nil || !want.IsKnown() || !record.Dynamic || record.OwnerUID != string(s.nodeSet.UID) {
			continue
		}
		note, _ := comment.Parse(n.Comment)
		want.Compare(&record, n)
		if record.Future && want.Hash != "" && !record.OtherShape && !record.InvalidRegistration {
			record.LostGRES = s.expectations.IsGRESRefused(name, record.LacksGRES)
			record.OwnerMissing = note.Shape == "" || !slices.Equal(n.Features, want.FeaturesOf(n)) ||
				record.LacksGRES && s.expectations.MayWriteGRES(name, now)
		}
		s.slurm.Records[name] = record
	}
}

// observeMissingOwners marks the records whose comment must be written. If no reading shows a write to a record yet, the
// record may already have the comment.
func (s *observation) observeMissingOwners() {
	for name, record := range s.slurm.Records {
		if _, written := s.expectations.PendingWrites[name]; written {
			record.OwnerMissing = false
		} else {
			record.OwnerMissing = record.OwnerMissing || s.isUnmarkedRecord(name)
		}
		s.slurm.Records[name] = record
	}
}

// readOneByOne is the number of nodes that are read one by one at most. More nodes are read with one list of all nodes.
const readOneByOne = 20

// readNodes reads nodes again. Those that do not exist are left out.
func (s *observation) readNodes(ctx context.Context, names []string) (map[string]*slurm.Node, error) {
	if len(names) > readOneByOne {
		return s.slurmCluster.ReadNodes(ctx)
	}
	out := map[string]*slurm.Node{}
	for _, name := range names {
		n, err := s.slurmCluster.ReadNode(ctx, name)
		switch {
		case err == nil:
			out[name] = n
		case !slurmclient.IsNotFound(err):
			return nil, fmt.Errorf("reading slurm node %s: %w", name, err)
		}
	}
	return out, nil
}

// mayAdopt reports whether a node is still a FUTURE record without an owner, or of the NodeSet. A NodeSet of the same name
// may have created it, and have written its comment since the node was listed.
func (s *observation) mayAdopt(n *slurm.Node) bool {
	if n == nil || n.State.Base != slurm.NodeFuture {
		return false
	}
	note, ok := comment.Parse(n.Comment)
	return n.Comment == "" || ok && note.BelongsTo(s.nodeSet, s.namespaceUID)
}

// adoptRecords writes the owner, the shape, the features and the GRES on records, with one request for all that get the same.
// It leaves out those that are no longer the NodeSet's.
func (r *Reconciler) adoptRecords(ctx context.Context, s *observation, names []string) error {
	if s.slurmCluster == nil {
		return errNoSlurmCluster
	}
	nodes, err := s.readNodes(ctx, names)
	if err != nil {
		return err
	}
	want, equal := s.recordShape(), map[string][]string{}
	updates := map[string]recordUpdate{}
	var errs []error
	for _, name := range names {
		if !s.mayAdopt(nodes[name]) {
			errs = append(errs, fmt.Errorf("adopting the record of slurm node %s: %w", name, errNotAsSeen))
			continue
		}
		update := s.adoptRecord(want, nodes[name])
		key := update.String()
		equal[key], updates[key] = append(equal[key], name), update
	}
	for key := range maps.Keys(equal) {
		if err := r.updateRecords(ctx, s, equal[key], updates[key]); err != nil {
			errs = append(errs, fmt.Errorf("adopting records of nodeset %s: %w", s.nodeSet.Name, err))
			continue
		}
		r.expectations.ExpectWrite(s.expectations, equal[key], plan.CreateRecords, r.now())
	}
	return errors.Join(errs...)
}

// recordUpdate is an update of FUTURE records. refused is the update if Slurm refuses gres, which are nil if they need not
// be written.
type recordUpdate struct {
	slurmclient.NodeUpdate
	gres    *string
	refused slurmclient.NodeUpdate
}

// String returns the same text for equal updates.
func (u recordUpdate) String() string {
	return fmt.Sprintf("%s %q %t", *u.Comment, u.Features, u.gres != nil)
}

// updateRecords updates FUTURE records. It writes their GRES first, since slurmctld writes the other fields of an update
// whose GRES it refuses. It remembers a refusal.
func (r *Reconciler) updateRecords(ctx context.Context, s *observation, names []string, update recordUpdate) error {
	list := hostlist.Compress(names)
	if update.gres == nil {
		return s.slurmCluster.UpdateNode(ctx, list, update.NodeUpdate)
	}
	refusal := s.slurmCluster.UpdateNode(ctx, list, slurmclient.NodeUpdate{GRES: update.gres})
	if refusal == nil {
		return s.slurmCluster.UpdateNode(ctx, list, update.NodeUpdate)
	}
	log.FromContext(ctx).Info("slurmctld refuses GRES", "slurmNode", list, "gres", *update.gres, "err", refusal.Error())
	err := s.slurmCluster.UpdateNode(ctx, list, update.refused)
	if err == nil {
		r.expectations.RefuseGRES(s.expectations, names, r.now())
	}
	return err
}

// adoptRecord returns the update of a FUTURE record: the owner, the features, and, if it has that shape, the hash of the
// shape and its GRES.
func (s *observation) adoptRecord(want observed.RecordShape, n *slurm.Node) recordUpdate {
	var out slurmclient.NodeUpdate
	var note comment.Comment
	lacking := false
	if n != nil {
		note, _ = comment.Parse(n.Comment)
		if note.Shape == "" && want.IsKnown() && want.IsOf(n, "") {
			note.Shape = want.HashWithoutGRES()
		}
		if features := want.FeaturesOf(n); want.IsKnown() && !slices.Equal(features, n.Features) {
			out.Features = features
		}
		lacking = want.IsKnown() && want.IsOf(n, note.Shape) && want.LacksGRES(n, note.Shape)
	}
	return s.recordUpdateOf(out, note, want, lacking)
}

// recordUpdateOf adds to an update of FUTURE records their owner, the shape of the note, and the GRES of the shape if they
// must be written.
func (s *observation) recordUpdateOf(update slurmclient.NodeUpdate, note comment.Comment, want observed.RecordShape,
	withGRES bool) recordUpdate {
	before := comment.WithoutPod(s.nodeSet, s.namespaceUID, note)
	update.Comment = &before
	if !withGRES {
		return recordUpdate{NodeUpdate: update}
	}
	out := recordUpdate{NodeUpdate: update, gres: want.GRES(), refused: update}
	note.Shape = want.Hash
	text := comment.WithoutPod(s.nodeSet, s.namespaceUID, note)
	out.Comment = &text
	return out
}

// recreateRecord deletes a FUTURE record and creates it with the shape of the NodeSet. If the process is killed between
// the two, the record is missing, and is created as any other.
func (r *Reconciler) recreateRecord(ctx context.Context, s *observation, step plan.Step) error {
	names := []string{step.SlurmName}
	if err := s.slurmCluster.DeleteNode(ctx, step.SlurmName); err != nil && !slurmclient.IsNotFound(err) {
		r.expectations.ExpectWrite(s.expectations, names, expectations.OutcomeUnknown, r.now())
		return fmt.Errorf("deleting the record of slurm node %s, which has another shape: %w", step.SlurmName, err)
	}
	if err := r.createOwnedRecords(ctx, s, names, ""); err != nil {
		r.expectations.ExpectWrite(s.expectations, names, plan.DeleteRecord, r.now())
		return fmt.Errorf("creating the record of slurm node %s again: %w", step.SlurmName, err)
	}
	r.expectations.ExpectWrite(s.expectations, names, plan.RecreateRecord, r.now())
	return nil
}

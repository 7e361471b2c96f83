package nodeset

import (
	"context"
	"fmt"
	"maps"
	"slices"

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
	have, _ := shape.OfNodeSet(s.nodeSet)
	return observed.RecordShapeOf(render.FutureOptions(s.input, have))
}

// compareShapes compares the records with the shape of the NodeSet. Equal records that lack the hash of the shape in
// their comment, and FUTURE records with other features or without the types of their GRES, are marked to be written.
func (s *observation) compareShapes() {
	want := s.recordShape()
	for name, record := range s.slurm.Records {
		n := s.slurmNodes[name]
		if n == nil || !want.IsKnown() || !record.Dynamic || record.OwnerUID != string(s.nodeSet.UID) {
			continue
		}
		note, _ := comment.Parse(n.Comment)
		want.Compare(&record, n)
		if record.Future && want.Hash != "" && !record.OtherShape && !record.InvalidRegistration {
			record.OwnerMissing = note.Shape == "" || !slices.Equal(n.Features, want.FeaturesOf(n)) || want.LostGRES(n) != ""
		}
		s.slurm.Records[name] = record
	}
}

// observeMissingOwners marks the records whose comment must be written. A record with a write that
// no reading shows yet may have it already.
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

// adoptRecords writes the owner, the shape, the features and lost types of GRES on records, with one request for all that get the same.
func (r *Reconciler) adoptRecords(ctx context.Context, s *observation, names []string) error {
	if s.slurmCluster == nil {
		return errNoSlurmCluster
	}
	type content struct{ comment, features, gres string }
	want, equal := s.recordShape(), map[content][]string{}
	updates := map[content]slurmclient.NodeUpdate{}
	for _, name := range names {
		update := s.adoptRecord(want, s.slurmNodes[name])
		key := content{comment: *update.Comment, features: fmt.Sprint(update.Features)}
		if update.GRES != nil {
			key.gres = *update.GRES
		}
		equal[key], updates[key] = append(equal[key], name), update
	}
	for key := range maps.Keys(equal) {
		if err := s.slurmCluster.UpdateNode(ctx, hostlist.Compress(equal[key]), updates[key]); err != nil {
			return fmt.Errorf("adopting records of nodeset %s: %w", s.nodeSet.Name, err)
		}
		r.expectations.ExpectWrite(s.expectations, equal[key], plan.CreateRecords, r.now())
	}
	return nil
}

// adoptRecord returns what a FUTURE record gets: the owner, the features, and, if it has that shape, the hash of the shape
// and its GRES.
func (s *observation) adoptRecord(want observed.RecordShape, n *slurm.Node) slurmclient.NodeUpdate {
	var out slurmclient.NodeUpdate
	var note comment.Comment
	if n != nil {
		note, _ = comment.Parse(n.Comment)
		if note.Shape == "" && want.IsKnown() && want.IsOf(n, "") {
			note.Shape = want.Hash
		}
		if features := want.FeaturesOf(n); want.IsKnown() && !slices.Equal(features, n.Features) {
			out.Features = features
		}
		if lost := want.LostGRES(n); lost != "" && note.Shape == want.Hash {
			out.GRES = &lost
		}
	}
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
	if err := r.createOwnedRecords(ctx, s, step.SlurmName); err != nil {
		r.expectations.ExpectWrite(s.expectations, names, plan.DeleteRecord, r.now())
		return fmt.Errorf("creating the record of slurm node %s again: %w", step.SlurmName, err)
	}
	r.expectations.ExpectWrite(s.expectations, names, plan.RecreateRecord, r.now())
	return nil
}

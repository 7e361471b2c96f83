package nodeset

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
)

// planRevisions returns the stored revisions for the plan.
func (s *observation) planRevisions() []plan.Revision {
	out := make([]plan.Revision, len(s.revisions))
	for i := range s.revisions {
		r := &s.revisions[i]
		out[i] = plan.Revision{Name: r.Name, Hash: r.Labels[render.LabelRevision], Number: r.Revision,
			Ordinals: r.Annotations[v1beta1.AnnotationOrdinals], Owned: metav1.IsControlledBy(r, s.nodeSet),
			Foreign: !render.IsRevisionData(r.Data.Raw)}
		if adopts, has := r.Annotations[v1beta1.AnnotationAdoptedRevisions]; has {
			out[i].Adopts = strings.Split(adopts, ",") // one may be empty: the revision of workers without one
		}
	}
	return out
}

// adoptRevisions gives the workers of another operator the revisions as which they count.
func (s *observation) adoptRevisions() {
	s.adoptedRevisions = observed.AdoptedRevisions(s.planRevisions(), s.workers, s.revision.Hash,
		s.nodeSet.Status.NodeSetHash)
	for i := range s.workers {
		if as, adopted := s.adoptedRevisions[s.workers[i].Revision]; adopted {
			s.workers[i].Revision = as
		}
	}
}

// workerSource is the input for rendering a worker.
type workerSource struct {
	hash     string
	input    render.Input
	names    names.Workers
	template corev1.PodTemplateSpec
}

// workerSourceOf returns the source of workers of a revision.
func (s *observation) workerSourceOf(hash string) (workerSource, error) {
	out := workerSource{s.revision.Hash, s.input, s.names, s.template}
	if hash == s.revision.Hash {
		return out, nil
	}
	i := slices.IndexFunc(s.revisions,
		func(r appsv1.ControllerRevision) bool { return r.Labels[render.LabelRevision] == hash })
	if i < 0 {
		return workerSource{}, fmt.Errorf("revision %s of a worker does not exist", hash)
	}
	var err error
	out.hash = hash
	if out.input, err = s.input.AtRevision(s.revisions[i].Data.Raw); err != nil {
		return workerSource{}, err
	}
	if out.names, err = names.NewWorkers(out.input.NodeSet, out.input.Cluster); err != nil {
		return workerSource{}, fmt.Errorf("naming workers of revision %s: %w", hash, err)
	}
	if out.template, err = render.Template(out.input); err != nil {
		return workerSource{}, fmt.Errorf("rendering revision %s: %w", hash, err)
	}
	return out, nil
}

// applyRevisions makes the changes that adopt revisions, or the others. It ends with the first error.
func (r *Reconciler) applyRevisions(ctx context.Context, s *observation, changes []plan.RevisionChange,
	adoption bool) error {
	for _, change := range changes {
		if (change.Verb == plan.AdoptRevision) != adoption {
			continue
		}
		if err := r.applyRevision(ctx, s, change); err != nil {
			return fmt.Errorf("controller revision %s: %s: %w", change.Name, change.Verb, err)
		}
	}
	return nil
}

func (r *Reconciler) applyRevision(ctx context.Context, s *observation, change plan.RevisionChange) error {
	if change.Verb == plan.CreateRevision {
		object := render.RevisionObject(s.input, s.revision, change.Number)
		if len(change.Adopts) > 0 {
			object.Annotations = map[string]string{v1beta1.AnnotationAdoptedRevisions: strings.Join(change.Adopts, ",")}
		}
		err := r.client.Create(ctx, object, client.FieldOwner(FieldManager))
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	i := slices.IndexFunc(s.revisions, func(c appsv1.ControllerRevision) bool { return c.Name == change.Name })
	if i < 0 {
		return nil
	}
	switch revision := &s.revisions[i]; change.Verb {
	case plan.AdoptRevision:
		if err := r.checkAdoption(ctx, s); err != nil {
			return err
		}
		return r.patchRevision(ctx, revision, map[string]any{"resourceVersion": revision.ResourceVersion,
			"ownerReferences": []metav1.OwnerReference{render.Owner(s.nodeSet)}})
	case plan.AnnotateRevision:
		var value any
		if change.Ordinals != "" {
			value = change.Ordinals
		}
		return r.patchRevision(ctx, revision,
			map[string]any{"annotations": map[string]any{v1beta1.AnnotationOrdinals: value}})
	case plan.DeleteRevision:
		return client.IgnoreNotFound(r.client.Delete(ctx, revision))
	}
	return fmt.Errorf("unknown verb %s", change.Verb)
}

// keepNames keeps the names of ordinals that keep an old revision, for the plan and all other users of an ordinal's
// name.
func (s *observation) keepNames() {
	if s.desired.Frozen || s.desired.Update.Partition == 0 {
		return
	}
	named := map[string]names.Workers{}
	for i := range s.revisions {
		in, err := s.input.AtRevision(s.revisions[i].Data.Raw)
		if err != nil {
			continue // no worker can be created from it
		}
		if workers, err := names.NewWorkers(in.NodeSet, in.Cluster); err == nil {
			named[s.revisions[i].Labels[render.LabelRevision]] = workers
		}
	}
	s.desired.SlurmNameIn = func(revision string, ordinal int) string {
		if workers, known := named[revision]; known {
			return workers.SlurmName(ordinal)
		}
		return s.names.SlurmName(ordinal)
	}
	s.desired.KeepNames(&plan.Observation{Workers: s.workers, Revisions: s.planRevisions()})
}

// patchRevision changes the metadata of a revision.
func (r *Reconciler) patchRevision(ctx context.Context, revision *appsv1.ControllerRevision,
	metadata map[string]any) error {
	data, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	return ignoreNotFound(r.client.Patch(ctx, revision.DeepCopy(), client.RawPatch(types.MergePatchType, data),
		client.FieldOwner(FieldManager)))
}

package nodeset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
)

// keptRevisionsOf returns the old revisions that ordinals below the partition keep, by ordinal: the
// revision of the worker or, while there is none, the revision annotated with the ordinal.
// Revisions that do not exist any more are left out.
func keptRevisionsOf(s *observation) map[int]string {
	out := map[int]string{}
	if s.problem.reason != "" || s.desired.PerKubeNode || s.desired.Update.Partition == 0 {
		return out
	}
	old := map[string]bool{}
	for i := range s.revisions {
		hash := s.revisions[i].Labels[render.LabelRevision]
		if hash == s.revision.Hash {
			continue
		}
		old[hash] = true
		for _, ordinal := range parseOrdinals(s.revisions[i].Annotations[v1beta1.AnnotationOrdinals],
			s.desired.Update.Partition) {
			out[ordinal] = hash
		}
	}
	for i := range s.workers {
		w := &s.workers[i]
		switch {
		case w.Slot.Ordinal >= s.desired.Update.Partition:
		case old[w.Revision]:
			out[w.Slot.Ordinal] = w.Revision
		default:
			delete(out, w.Slot.Ordinal)
		}
	}
	return out
}

// maxOrdinals is the largest number of ordinals read from one AnnotationOrdinals, which may repeat
// some. It is more than any NodeSet has workers.
const maxOrdinals = 1 << 20

// parseOrdinals parses AnnotationOrdinals, up to but excluding end. It skips text that is not a
// list of ordinals.
func parseOrdinals(text string, end int) []int {
	var out []int
	for part := range strings.SplitSeq(text, ",") {
		low, high, ranged := strings.Cut(part, "-")
		first, err := strconv.Atoi(low)
		last := first
		if ranged && err == nil {
			last, err = strconv.Atoi(high)
		}
		if err != nil || first < 0 {
			continue
		}
		for i := first; i <= min(last, end-1) && len(out) < maxOrdinals; i++ {
			out = append(out, i)
		}
	}
	return out
}

// formatOrdinals formats AnnotationOrdinals; empty for none.
func formatOrdinals(ordinals []int) string {
	ordinals = slices.Sorted(slices.Values(ordinals))
	var parts []string
	for i := 0; i < len(ordinals); {
		j := i
		for j+1 < len(ordinals) && ordinals[j+1] == ordinals[j]+1 {
			j++
		}
		part := strconv.Itoa(ordinals[i])
		if j > i {
			part += "-" + strconv.Itoa(ordinals[j])
		}
		parts, i = append(parts, part), j+1
	}
	return strings.Join(parts, ",")
}

// workerSource is what a worker is rendered from.
type workerSource struct {
	hash     string
	input    render.Input
	names    names.Workers
	template corev1.PodTemplateSpec
}

// workerSourceOf returns what the worker of an ordinal is rendered from: the newest revision, or
// the one that the ordinal keeps.
func (s *observation) workerSourceOf(ordinal int) (workerSource, error) {
	out := workerSource{s.revision.Hash, s.input, s.names, s.template}
	hash, old := s.keptRevisions[ordinal]
	if !old {
		return out, nil
	}
	i := slices.IndexFunc(s.revisions,
		func(r appsv1.ControllerRevision) bool { return r.Labels[render.LabelRevision] == hash })
	if i < 0 {
		return workerSource{}, fmt.Errorf("worker %d keeps revision %s, which does not exist", ordinal, hash)
	}
	var err error
	out.hash = hash
	if out.input, err = s.input.AtRevision(s.revisions[i].Data.Raw); err != nil {
		return workerSource{}, err
	}
	if out.names, err = names.NewWorkers(out.input.NodeSet, out.input.Cluster); err != nil {
		return workerSource{}, fmt.Errorf("naming worker %d of revision %s: %w", ordinal, hash, err)
	}
	if out.template, err = render.Template(out.input); err != nil {
		return workerSource{}, fmt.Errorf("rendering revision %s: %w", hash, err)
	}
	return out, nil
}

// applyRevisions creates the newest revision, and deletes those beyond the history limit that no
// worker uses or keeps. It annotates old revisions with the ordinals that keep them before anything
// happens to the workers.
func (r *Reconciler) applyRevisions(ctx context.Context, s *observation) error {
	top, there := int64(0), false
	used := map[string]bool{s.revision.Hash: true}
	for i := range s.workers {
		used[s.workers[i].Revision] = true
	}
	for _, hash := range s.keptRevisions {
		used[hash] = true
	}
	var old []*appsv1.ControllerRevision
	for i := range s.revisions {
		revision := &s.revisions[i]
		top = max(top, revision.Revision)
		there = there || revision.Name == s.revision.Name
		if !used[revision.Labels[render.LabelRevision]] {
			old = append(old, revision)
		}
	}
	if !there {
		object := render.RevisionObject(s.input, s.revision, top+1)
		if err := r.client.Create(ctx, object, client.FieldOwner(FieldManager)); err != nil &&
			!apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating controller revision %s: %w", object.Name, err)
		}
	}
	if err := r.annotateKeptOrdinals(ctx, s); err != nil {
		return err
	}
	slices.SortFunc(old, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(b.Revision, a.Revision) })
	for _, revision := range old[min(len(old), int(max(0, s.nodeSet.Spec.RevisionHistoryLimit))):] {
		if err := r.client.Delete(ctx, revision); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting controller revision %s: %w", revision.Name, err)
		}
	}
	return nil
}

// annotateKeptOrdinals writes on the revisions which ordinals keep them, where that differs.
func (r *Reconciler) annotateKeptOrdinals(ctx context.Context, s *observation) error {
	keep := map[string][]int{}
	for _, ordinal := range slices.Sorted(maps.Keys(s.keptRevisions)) {
		keep[s.keptRevisions[ordinal]] = append(keep[s.keptRevisions[ordinal]], ordinal)
	}
	for i := range s.revisions {
		revision := &s.revisions[i]
		text := formatOrdinals(keep[revision.Labels[render.LabelRevision]])
		if text == revision.Annotations[v1beta1.AnnotationOrdinals] {
			continue
		}
		var value any
		if text != "" {
			value = text
		}
		data, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1beta1.AnnotationOrdinals: value}}})
		if err != nil {
			return err
		}
		if err := r.client.Patch(ctx, revision.DeepCopy(), client.RawPatch(types.MergePatchType, data),
			client.FieldOwner(FieldManager)); err != nil {
			return ignoreNotFound(fmt.Errorf("annotating controller revision %s: %w", revision.Name, err))
		}
	}
	return nil
}

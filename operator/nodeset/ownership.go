package nodeset

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
)

// nodeSetOf is the name of the NodeSet that a pod or a revision belongs to, empty for
// none: that of its controller or, while it has no controller, what its labels say. The
// garbage collector takes a NodeSet that is deleted in the foreground, or that leaves
// orphans, off its workers; the next NodeSet of the name adopts them.
func nodeSetOf(obj client.Object) string {
	if ref := metav1.GetControllerOf(obj); ref != nil {
		if ref.Kind != v1beta1.KindNodeSet {
			return ""
		}
		return ref.Name
	}
	labels := obj.GetLabels()
	if labels[v1beta1.LabelAppName] != v1beta1.AppSlurmd || labels[render.LabelRevision] == "" {
		return ""
	}
	// A copy of a worker for debugging has the worker's labels and another name.
	if _, pod := obj.(*corev1.Pod); pod && labels[v1beta1.LabelPodName] != obj.GetName() {
		return ""
	}
	return labels[v1beta1.LabelAppInstance]
}

// observeNamespace reads the UID of the NodeSet's namespace, once in the life of a NodeSet.
func (r *Reconciler) observeNamespace(ctx context.Context, s *seen) error {
	if known := s.memory.namespace; known.nodeSet == s.nodeSet.UID {
		s.namespaceUID = known.uid
		return nil
	}
	namespace := &corev1.Namespace{}
	err := r.direct.Get(ctx, types.NamespacedName{Name: s.nodeSet.Namespace}, namespace)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return missing("cannot read namespace %s, whose UID workers refer to: %v", s.nodeSet.Namespace, err)
	case err != nil:
		return fmt.Errorf("reading namespace %s: %w", s.nodeSet.Namespace, err)
	}
	s.namespaceUID = namespace.UID
	s.memory.namespace = namespaceOf{s.nodeSet.UID, namespace.UID}
	return nil
}

// namespaceOf is the UID of the namespace of a NodeSet.
type namespaceOf struct{ nodeSet, uid types.UID }

// bondOf is how a worker is tied to its NodeSet and namespace. Where the namespace's UID
// is not known nothing can be done about it.
func bondOf(pod *corev1.Pod, s *seen) plan.Bond {
	if s.namespaceUID == "" {
		return plan.Bond{}
	}
	return plan.Bond{
		Orphaned: !metav1.IsControlledBy(pod, s.nodeSet),
		Loose:    !slices.ContainsFunc(pod.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == s.namespaceUID }),
	}
}

// ownersOf are the owners that a worker is to have: those that it has beside the NodeSet
// of this name and its namespace, and these two. A NodeSet that is being deleted takes no
// worker back that the garbage collector took it off.
func ownersOf(pod *corev1.Pod, s *seen) []metav1.OwnerReference {
	keep := slices.DeleteFunc(slices.Clone(pod.OwnerReferences), func(ref metav1.OwnerReference) bool {
		return ref.Kind == v1beta1.KindNodeSet && ref.Name == s.nodeSet.Name || ref.Kind == "Namespace"
	})
	if s.nodeSet.DeletionTimestamp == nil || metav1.IsControlledBy(pod, s.nodeSet) {
		keep = append(keep, render.Owner(s.nodeSet))
	}
	return append(keep, render.Anchor(s.nodeSet.Namespace, s.namespaceUID))
}

// mayAdopt returns an error unless the NodeSet, as it is now, is the one that was seen and
// is being deleted as it was seen to be: the cache may have a pod that the garbage
// collector took the NodeSet off, and the deletion that asked for it not yet.
func (r *Reconciler) mayAdopt(ctx context.Context, s *seen) error {
	now := &v1beta1.NodeSet{}
	if err := r.direct.Get(ctx, client.ObjectKeyFromObject(s.nodeSet), now); err != nil {
		return fmt.Errorf("reading nodeset %s before adopting: %w", s.nodeSet.Name, err)
	}
	if now.UID != s.nodeSet.UID || (now.DeletionTimestamp == nil) != (s.nodeSet.DeletionTimestamp == nil) {
		return errNotAsSeen
	}
	return nil
}

// adopt writes the owners of a pod that is still as it was seen.
func (r *Reconciler) adopt(ctx context.Context, s *seen, step plan.Step) error {
	if err := r.mayAdopt(ctx, s); err != nil {
		return err
	}
	pod := s.pod(step.Pod)
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": pod.ResourceVersion, "uid": step.UID, "ownerReferences": ownersOf(pod, s),
	}})
	if err != nil {
		return err
	}
	written := pod.DeepCopy()
	if err := r.client.Patch(ctx, written, client.RawPatch(types.MergePatchType, data), client.FieldOwner(FieldManager)); err != nil {
		return ignoreGone(fmt.Errorf("adopting pod %s: %w", step.Pod, err))
	}
	s.keep(written)
	return nil
}

// adoptRevisions takes revisions that a NodeSet of this name has left behind.
func (r *Reconciler) adoptRevisions(ctx context.Context, s *seen) error {
	for i := range s.revisions {
		revision := &s.revisions[i]
		if metav1.IsControlledBy(revision, s.nodeSet) {
			continue
		}
		if err := r.mayAdopt(ctx, s); err != nil {
			return err
		}
		data, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"resourceVersion": revision.ResourceVersion, "ownerReferences": []metav1.OwnerReference{render.Owner(s.nodeSet)},
		}})
		if err != nil {
			return err
		}
		if err := r.client.Patch(ctx, revision.DeepCopy(), client.RawPatch(types.MergePatchType, data), client.FieldOwner(FieldManager)); err != nil {
			return ignoreGone(fmt.Errorf("adopting controller revision %s: %w", revision.Name, err))
		}
	}
	return nil
}

// orphaning reports whether the NodeSet is being deleted and leaves its workers behind
// (--cascade=orphan). The finalizer that asks for that goes as soon as the garbage
// collector is done; afterwards revisions without an owner tell of it: in the foreground
// they are deleted, and in the background the NodeSet keeps them until it is gone.
func orphaning(n *v1beta1.NodeSet, revisions []appsv1.ControllerRevision) bool {
	switch {
	case n.DeletionTimestamp == nil:
		return false
	case slices.Contains(n.Finalizers, metav1.FinalizerOrphanDependents):
		return true
	case slices.Contains(n.Finalizers, metav1.FinalizerDeleteDependents):
		return false
	}
	return slices.ContainsFunc(revisions, func(r appsv1.ControllerRevision) bool { return metav1.GetControllerOf(&r) == nil })
}

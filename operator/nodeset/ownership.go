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
	"github.com/slurmtide/slurmtide/operator/nodeset/expectations"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// nodeSetOf returns the name of the NodeSet that a pod or a revision belongs to, or an empty string. It uses
// the controller, or else the labels. When a NodeSet is deleted in the foreground or orphans its workers, the
// garbage collector removes it from their owners. The next NodeSet of the name adopts them.
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
	// A debugging copy of a worker has the worker's labels and another name.
	if _, pod := obj.(*corev1.Pod); pod && labels[v1beta1.LabelPodName] != obj.GetName() {
		return ""
	}
	return labels[v1beta1.LabelAppInstance]
}

// observeNamespace reads the UID of the NodeSet's namespace, once in the life of a NodeSet.
func (r *Reconciler) observeNamespace(ctx context.Context, s *observation) error {
	if known := s.expectations.Namespace; known.NodeSet == s.nodeSet.UID {
		s.namespaceUID = known.UID
		return nil
	}
	namespace := &corev1.Namespace{}
	err := r.uncached.Get(ctx, types.NamespacedName{Name: s.nodeSet.Namespace}, namespace)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return missingReference("cannot read namespace %s, whose UID workers refer to: %v", s.nodeSet.Namespace, err)
	case err != nil:
		return fmt.Errorf("reading namespace %s: %w", s.nodeSet.Namespace, err)
	}
	s.namespaceUID = namespace.UID
	s.expectations.Namespace = expectations.NamespaceIdentity{NodeSet: s.nodeSet.UID, UID: namespace.UID}
	return nil
}

// missingOwnersOf returns the owners that a worker lacks. Without the UID of the namespace it
// returns none, since they could not be added.
func missingOwnersOf(pod *corev1.Pod, s *observation) plan.MissingOwners {
	if s.namespaceUID == "" {
		return plan.MissingOwners{}
	}
	return plan.MissingOwners{
		NodeSet: !metav1.IsControlledBy(pod, s.nodeSet),
		Namespace: !slices.ContainsFunc(pod.OwnerReferences,
			func(ref metav1.OwnerReference) bool { return ref.UID == s.namespaceUID }),
	}
}

// ownersOf returns the owners that a worker should have: the NodeSet, its namespace, and its other owners
// except NodeSets of this name and namespaces. If the garbage collector removed a NodeSet that is being
// deleted from a worker, it does not become the owner again.
func ownersOf(pod *corev1.Pod, s *observation) []metav1.OwnerReference {
	keep := slices.DeleteFunc(slices.Clone(pod.OwnerReferences), func(ref metav1.OwnerReference) bool {
		return ref.Kind == v1beta1.KindNodeSet && ref.Name == s.nodeSet.Name || ref.Kind == "Namespace"
	})
	if s.nodeSet.DeletionTimestamp == nil || metav1.IsControlledBy(pod, s.nodeSet) {
		keep = append(keep, render.Owner(s.nodeSet))
	}
	return append(keep, refs.Anchor(s.nodeSet.Namespace, s.namespaceUID))
}

// checkAdoption returns an error if the NodeSet's UID or its deletion differs from the observation. The cache
// may show that the garbage collector removed the NodeSet from a pod before it shows the deletion that caused
// this.
func (r *Reconciler) checkAdoption(ctx context.Context, s *observation) error {
	now := &v1beta1.NodeSet{}
	if err := r.uncached.Get(ctx, client.ObjectKeyFromObject(s.nodeSet), now); err != nil {
		return fmt.Errorf("reading nodeset %s before adopting: %w", s.nodeSet.Name, err)
	}
	if now.UID != s.nodeSet.UID || (now.DeletionTimestamp == nil) != (s.nodeSet.DeletionTimestamp == nil) {
		return errNotAsSeen
	}
	return nil
}

// adoptPod writes the owners of a pod that has not changed since its observation.
func (r *Reconciler) adoptPod(ctx context.Context, s *observation, step plan.Step) error {
	if err := r.checkAdoption(ctx, s); err != nil {
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
	if err := r.client.Patch(ctx, written, client.RawPatch(types.MergePatchType, data),
		client.FieldOwner(FieldManager)); err != nil {
		return ignoreNotFound(fmt.Errorf("adopting pod %s: %w", step.Pod, err))
	}
	s.rememberPod(written)
	return nil
}

// isOrphaning reports whether the NodeSet is being deleted and leaves its workers behind (--cascade=orphan).
// The finalizer that requests this disappears when the garbage collector is done. Afterwards revisions
// without an owner show it: foreground deletion deletes them, and with background deletion the NodeSet owns
// them until it is gone.
func isOrphaning(n *v1beta1.NodeSet, revisions []appsv1.ControllerRevision) bool {
	switch {
	case n.DeletionTimestamp == nil:
		return false
	case slices.Contains(n.Finalizers, metav1.FinalizerOrphanDependents):
		return true
	case slices.Contains(n.Finalizers, metav1.FinalizerDeleteDependents):
		return false
	}
	return slices.ContainsFunc(revisions,
		func(r appsv1.ControllerRevision) bool { return metav1.GetControllerOf(&r) == nil })
}

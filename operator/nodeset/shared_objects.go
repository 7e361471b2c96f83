package nodeset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// All NodeSets of a cluster share the workers' Service and their disruption budget. Two objects own them: the
// Controller or Cluster, and the namespace as an anchor. While the cluster has a NodeSet, the anchor keeps
// the garbage collector from deleting them, even if the Controller or Cluster is deleted before the NodeSets,
// which may still wait for jobs. The last NodeSet removes the anchor when it has no worker left.

// applyChildren creates or corrects the other objects that workers need: the Service, the host keys
// of sshd, the disruption budget, and the newest revision.
func (r *Reconciler) applyChildren(ctx context.Context, s *observation, revisions []plan.RevisionChange) error {
	if err := r.applyService(ctx, s); err != nil {
		return err
	}
	if err := r.createHostKeys(ctx, s); err != nil {
		return err
	}
	if protection := s.nodeSet.Spec.WorkloadDisruptionProtection; protection == nil || *protection {
		if err := r.applyBudget(ctx, s); err != nil {
			return err
		}
	}
	return r.applyRevisions(ctx, s, revisions, false)
}

// sharedOwners returns the owners of the objects that the NodeSets of a cluster share.
func (s *observation) sharedOwners() []metav1.OwnerReference {
	return []metav1.OwnerReference{s.clusterOwner, refs.Anchor(s.nodeSet.Namespace, s.namespaceUID)}
}

// applyService creates the workers' Service, or corrects it.
func (r *Reconciler) applyService(ctx context.Context, s *observation) error {
	have, want := &corev1.Service{}, render.Service(s.clusterRef, s.nodeSet.Namespace, s.sharedOwners()...)
	if err := r.createIfMissing(ctx, have, want); err != nil || have.UID == "" {
		return err
	}
	next := correctService(have, want)
	return r.patchSharedObject(ctx, have, next)
}

// correctService returns the Service with the fields set that the names of workers depend on: it selects all
// workers, ready or not. Ports, labels and owners of others stay. The cluster IP of a Service cannot be
// changed.
func correctService(have, want *corev1.Service) *corev1.Service {
	next := have.DeepCopy()
	mergeMeta(next, want)
	next.Spec.Selector = maps.Clone(want.Spec.Selector)
	next.Spec.PublishNotReadyAddresses = want.Spec.PublishNotReadyAddresses
	for _, port := range want.Spec.Ports {
		i := slices.IndexFunc(next.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == port.Name })
		if i < 0 {
			next.Spec.Ports = append(next.Spec.Ports, port)
			continue
		}
		p := &next.Spec.Ports[i]
		p.Protocol, p.Port, p.TargetPort = port.Protocol, port.Port, port.TargetPort
	}
	return next
}

// applyBudget creates the disruption budget, or corrects it. It records an event if the budget would have
// allowed the eviction of workers with jobs, as an older operator's budget with maxUnavailable does.
func (r *Reconciler) applyBudget(ctx context.Context, s *observation) error {
	have, want := &policyv1.PodDisruptionBudget{}, render.Budget(s.clusterRef, s.nodeSet.Namespace, s.sharedOwners()...)
	if err := r.createIfMissing(ctx, have, want); err != nil || have.UID == "" {
		return err
	}
	next := have.DeepCopy()
	mergeMeta(next, want)
	leaks := allowsEvictions(have, want)
	if leaks {
		next.Spec = want.Spec
	}
	if err := r.patchSharedObject(ctx, have, next); err != nil {
		return err
	}
	if leaks {
		r.events.Eventf(s.nodeSet, have, corev1.EventTypeWarning, "BudgetCorrected", "Update",
			"PodDisruptionBudget %s allowed the eviction of workers with jobs", have.Name)
	}
	return nil
}

// allowsEvictions reports whether a budget allows evictions that the wanted one refuses.
func allowsEvictions(have, want *policyv1.PodDisruptionBudget) bool {
	least := have.Spec.MinAvailable
	return least == nil || least.Type != intstr.Int || least.IntVal < want.Spec.MinAvailable.IntVal ||
		!apiequality.Semantic.DeepEqual(have.Spec.Selector, want.Spec.Selector) ||
		have.Spec.UnhealthyPodEvictionPolicy != nil &&
			*have.Spec.UnhealthyPodEvictionPolicy != *want.Spec.UnhealthyPodEvictionPolicy
}

// mergeMeta gives an object the labels and owners of the wanted one. Labels and owners of others stay, except
// earlier objects with the kind and name of a wanted owner.
func mergeMeta(next, want client.Object) {
	labels := maps.Clone(next.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, want.GetLabels())
	next.SetLabels(labels)
	owners := slices.Clone(next.GetOwnerReferences())
	for _, owner := range want.GetOwnerReferences() {
		if slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.UID == owner.UID }) {
			continue
		}
		owners = slices.DeleteFunc(owners, func(o metav1.OwnerReference) bool {
			return o.APIVersion == owner.APIVersion && o.Kind == owner.Kind && o.Name == owner.Name
		})
		owners = append(owners, owner)
	}
	next.SetOwnerReferences(owners)
}

// patchSharedObject writes the differences, if the object has not changed since it was read.
func (r *Reconciler) patchSharedObject(ctx context.Context, have, next client.Object) error {
	if apiequality.Semantic.DeepEqual(have, next) {
		return nil
	}
	patch := client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, next, patch, client.FieldOwner(FieldManager)); err != nil {
		return fmt.Errorf("correcting %T %s: %w", have, have.GetName(), err)
	}
	return nil
}

// createIfMissing creates an object that does not exist; otherwise it reads it into have.
func (r *Reconciler) createIfMissing(ctx context.Context, have, want client.Object) error {
	err := r.client.Get(ctx, client.ObjectKeyFromObject(want), have)
	if !apierrors.IsNotFound(err) {
		return err
	}
	if err := r.client.Create(ctx, want, client.FieldOwner(FieldManager)); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating %s %s: %w", want.GetObjectKind().GroupVersionKind().Kind, want.GetName(), err)
	}
	return nil
}

// releaseSharedObjects removes the anchor from the shared objects, if this is the last NodeSet of its cluster
// and it has no workers left. Afterwards the garbage collector deletes them with the Controller or Cluster,
// or with this NodeSet if the Controller or Cluster no longer exists.
func (r *Reconciler) releaseSharedObjects(ctx context.Context, s *observation) error {
	last, err := r.isLastOfCluster(ctx, s)
	if !last || err != nil {
		return err
	}
	return errors.Join(r.removeAnchor(ctx, s, &corev1.Service{}, names.WorkerService(s.clusterRef)),
		r.removeAnchor(ctx, s, &policyv1.PodDisruptionBudget{}, names.WorkerBudget(s.clusterRef)))
}

// isLastOfCluster reports whether no other NodeSet uses the shared objects, and this one has no worker left.
// Workers can remain after a deletion with --cascade=orphan.
func (r *Reconciler) isLastOfCluster(ctx context.Context, s *observation) (bool, error) {
	if s.clusterRef == "" || len(s.workers) > 0 || s.desired.Orphaning {
		return false, nil
	}
	list := &v1beta1.NodeSetList{}
	if err := r.client.List(ctx, list, client.InNamespace(s.nodeSet.Namespace)); err != nil {
		return false, fmt.Errorf("listing nodesets: %w", err)
	}
	return !slices.ContainsFunc(list.Items, func(n v1beta1.NodeSet) bool {
		key, _ := refs.ClusterKeyOf(&n)
		return n.UID != s.nodeSet.UID && key.Name == s.clusterRef
	}), nil
}

// removeAnchor removes the namespace from the owners of an object. If no other owner is left, this NodeSet,
// which is about to be deleted, replaces it.
func (r *Reconciler) removeAnchor(ctx context.Context, s *observation, have client.Object, name string) error {
	err := r.client.Get(ctx, client.ObjectKey{Namespace: s.nodeSet.Namespace, Name: name}, have)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	owners := slices.DeleteFunc(slices.Clone(have.GetOwnerReferences()),
		func(o metav1.OwnerReference) bool { return o.UID == s.namespaceUID })
	switch {
	case len(owners) == len(have.GetOwnerReferences()):
		return nil
	case len(owners) == 0:
		owners = []metav1.OwnerReference{{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: v1beta1.KindNodeSet,
			Name: s.nodeSet.Name, UID: s.nodeSet.UID}}
	}
	next, ok := have.DeepCopyObject().(client.Object)
	if !ok {
		return nil
	}
	next.SetOwnerReferences(owners)
	return client.IgnoreNotFound(r.patchSharedObject(ctx, have, next))
}

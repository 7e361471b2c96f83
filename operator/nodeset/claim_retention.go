package nodeset

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
)

// retentionPolicy returns what happens to claims, Retain where the NodeSet does not say.
func retentionPolicy(n *v1beta1.NodeSet) v1beta1.ClaimRetentionPolicy {
	out := v1beta1.ClaimRetentionPolicy{WhenDeleted: v1beta1.ClaimRetain, WhenScaled: v1beta1.ClaimRetain}
	if p := n.Spec.PersistentVolumeClaimRetentionPolicy; p != nil {
		if p.WhenDeleted != "" {
			out.WhenDeleted = p.WhenDeleted
		}
		if p.WhenScaled != "" {
			out.WhenScaled = p.WhenScaled
		}
	}
	return out
}

// applyRetention applies the retention policy to a claim, and reports whether that changes it. The
// policy applies in full to a claim that a worker uses. A claim without a worker keeps the policy
// under which its worker was removed, except that Retain always keeps it.
func applyRetention(n *v1beta1.NodeSet, claim *corev1.PersistentVolumeClaim, inUse bool) bool {
	policy := retentionPolicy(n)
	owned := slices.IndexFunc(claim.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == n.UID })
	marked := claim.Annotations[v1beta1.AnnotationDeleteWhenScaled] == "true"
	changed := false
	switch own := policy.WhenDeleted == v1beta1.ClaimDelete; {
	case own && owned < 0 && inUse:
		claim.OwnerReferences = append(claim.OwnerReferences, render.Owner(n))
		changed = true
	case !own && owned >= 0:
		claim.OwnerReferences = slices.Delete(claim.OwnerReferences, owned, owned+1)
		changed = true
	}
	switch mark := policy.WhenScaled == v1beta1.ClaimDelete; {
	case mark && !marked && inUse:
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1beta1.AnnotationDeleteWhenScaled, "true")
		changed = true
	case !mark && marked:
		delete(claim.Annotations, v1beta1.AnnotationDeleteWhenScaled)
		changed = true
	}
	return changed
}

// claimsInUse returns the names of the claims that pods of the NodeSet use.
func claimsInUse(s *observation) map[string]bool {
	out := map[string]bool{}
	for i := range s.workers {
		for _, v := range s.pods[s.workers[i].Pod].Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				out[v.PersistentVolumeClaim.ClaimName] = true
			}
		}
	}
	return out
}

// surplusClaims returns the claims whose worker was removed for good by scale-in under a policy
// that deletes them. It returns none while a worker is missing or terminating, since the next
// worker may use its name.
func surplusClaims(s *observation, actions *plan.Actions,
	claims []corev1.PersistentVolumeClaim) []*corev1.PersistentVolumeClaim {
	if s.problem.reason != "" || s.desired.Deleting || s.desired.PerKubeNode ||
		retentionPolicy(s.nodeSet).WhenScaled != v1beta1.ClaimDelete {
		return nil
	}
	if slices.ContainsFunc(s.workers, func(w plan.Worker) bool { return !w.DeletedAt.IsZero() || w.Finished }) {
		return nil
	}
	needed := claimsInUse(s)
	if len(s.workers) < s.desired.WorkerCount() ||
		slices.ContainsFunc(actions.Steps, func(step plan.Step) bool { return step.Verb == plan.CreatePod }) {
		return nil
	}
	var out []*corev1.PersistentVolumeClaim
	for i := range claims {
		if c := &claims[i]; !needed[c.Name] && c.DeletionTimestamp == nil &&
			c.Annotations[v1beta1.AnnotationDeleteWhenScaled] == "true" {
			out = append(out, c)
		}
	}
	return out
}

// pruneClaims applies the retention policy to the claims, and deletes those that it does not keep.
func (r *Reconciler) pruneClaims(ctx context.Context, s *observation, actions *plan.Actions) error {
	if len(s.nodeSet.Spec.VolumeClaimTemplates) == 0 {
		return nil
	}
	list := &corev1.PersistentVolumeClaimList{}
	selector := client.MatchingLabelsSelector{Selector: labels.SelectorFromSet(
		names.NodeSetSelector(s.nodeSet.Name, s.clusterRef))}
	if err := r.client.List(ctx, list, client.InNamespace(s.nodeSet.Namespace), selector); err != nil {
		return fmt.Errorf("listing claims: %w", err)
	}
	inUse := claimsInUse(s)
	for i := range list.Items {
		claim := &list.Items[i]
		was := claim.DeepCopy()
		if claim.DeletionTimestamp != nil || !applyRetention(s.nodeSet, claim, inUse[claim.Name]) {
			continue
		}
		patch := client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{})
		if err := ignoreNotFound(r.client.Patch(ctx, claim, patch, client.FieldOwner(FieldManager))); err != nil {
			return fmt.Errorf("applying the retention policy to claim %s: %w", claim.Name, err)
		}
	}
	for _, claim := range surplusClaims(s, actions, list.Items) {
		uid := claim.UID
		err := r.client.Delete(ctx, claim, &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		if err := ignoreNotFound(err); err != nil {
			return fmt.Errorf("deleting claim %s: %w", claim.Name, err)
		}
		r.events.Eventf(s.nodeSet, claim, corev1.EventTypeNormal, "SuccessfulDelete", "Delete",
			"deleted claim %s of a worker that scale-in removed", claim.Name)
	}
	return nil
}

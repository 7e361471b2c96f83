package nodeset

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/reading"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
)

// claimRetentionOf returns the retention policy of claims. By default they are kept.
func claimRetentionOf(n *v1beta1.NodeSet) plan.ClaimRetention {
	p := n.Spec.PersistentVolumeClaimRetentionPolicy
	if p == nil {
		return plan.ClaimRetention{}
	}
	return plan.ClaimRetention{
		WithNodeSet: p.WhenDeleted == v1beta1.ClaimDelete, WhenScaled: p.WhenScaled == v1beta1.ClaimDelete}
}

// observeClaims reads the claims of the NodeSet's workers, which exist only if it has templates.
func (r *Reconciler) observeClaims(ctx context.Context, s *observation) error {
	s.claims = map[string]*corev1.PersistentVolumeClaim{}
	if len(s.nodeSet.Spec.VolumeClaimTemplates) == 0 {
		return nil
	}
	list := &corev1.PersistentVolumeClaimList{}
	selector := client.MatchingLabelsSelector{Selector: labels.SelectorFromSet(
		names.NodeSetSelector(s.nodeSet.Name, s.clusterRef))}
	if err := r.client.List(ctx, list, client.InNamespace(s.nodeSet.Namespace), selector); err != nil {
		return fmt.Errorf("listing claims: %w", err)
	}
	for i := range list.Items {
		s.claims[list.Items[i].Name] = &list.Items[i]
	}
	return nil
}

// planClaims converts the claims for the plan.
func (s *observation) planClaims() []plan.Claim {
	users := map[string]string{} // the Slurm nodes of the workers that use claims
	for i := range s.workers {
		for _, v := range s.pods[s.workers[i].Pod].Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				users[v.PersistentVolumeClaim.ClaimName] = s.workers[i].SlurmName
			}
		}
	}
	var out []plan.Claim
	for name, claim := range s.claims {
		slurmName, inUse := users[name]
		if slurmName == "" {
			slurmName = s.slurmNameOfClaim(name)
		}
		out = append(out, plan.Claim{Name: name, SlurmName: slurmName, InUse: inUse, Deleting: claim.DeletionTimestamp != nil,
			ClaimRetention: plan.ClaimRetention{WithNodeSet: ownerIndexOf(s.nodeSet, claim) >= 0,
				WhenScaled: claim.Annotations[v1beta1.AnnotationDeleteWhenScaled] == "true"}})
	}
	return out
}

// slurmNameOfClaim returns the Slurm node of the worker with a claim, "<template>-<NodeSet>-<ordinal>", empty if it is not
// known.
func (s *observation) slurmNameOfClaim(claim string) string {
	end := strings.LastIndex(claim, "-")
	ordinal, err := strconv.Atoi(claim[end+1:])
	if err != nil || !strings.HasSuffix(claim[:max(end, 0)], "-"+s.nodeSet.Name) {
		return ""
	}
	return s.desired.SlurmName(ordinal)
}

// ownerIndexOf returns the index of the NodeSet among the owners of a claim, or a negative number.
func ownerIndexOf(n *v1beta1.NodeSet, claim *corev1.PersistentVolumeClaim) int {
	return slices.IndexFunc(claim.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == n.UID })
}

// setRetention writes the retention policy on a claim.
func setRetention(n *v1beta1.NodeSet, claim *corev1.PersistentVolumeClaim, want plan.ClaimRetention) {
	switch i := ownerIndexOf(n, claim); {
	case want.WithNodeSet && i < 0:
		claim.OwnerReferences = append(claim.OwnerReferences, render.Owner(n))
	case !want.WithNodeSet && i >= 0:
		claim.OwnerReferences = slices.Delete(claim.OwnerReferences, i, i+1)
	}
	if want.WhenScaled {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1beta1.AnnotationDeleteWhenScaled, "true")
	} else {
		delete(claim.Annotations, v1beta1.AnnotationDeleteWhenScaled)
	}
}

// applyClaims carries out the changes to the claims.
func (r *Reconciler) applyClaims(ctx context.Context, s *observation, changes []plan.ClaimChange) error {
	for _, c := range changes {
		claim := s.claims[c.Claim]
		if c.Delete {
			free, err := r.isClaimFree(ctx, s, c.SlurmName)
			if err == nil && free {
				err = r.deleteClaim(ctx, s, claim)
			}
			if err != nil {
				return err
			}
			continue
		}
		changed := claim.DeepCopy()
		setRetention(s.nodeSet, changed, c.Retention)
		patch := client.MergeFromWithOptions(claim, client.MergeFromWithOptimisticLock{})
		if err := ignoreNotFound(r.client.Patch(ctx, changed, patch, client.FieldOwner(FieldManager))); err != nil {
			return fmt.Errorf("applying the retention policy to claim %s: %w", c.Claim, err)
		}
	}
	return nil
}

// isClaimFree reports whether no worker may still use the claims of a Slurm node.
func (r *Reconciler) isClaimFree(ctx context.Context, s *observation, slurmName string) (bool, error) {
	if slurmName == "" {
		return true, nil
	}
	return reading.CheckPrecondition(ctx, s.slurmCluster, s.mayWrite, observed.FaultReasons(s.nodeSet), s.recordShape(),
		plan.Step{SlurmName: slurmName, Precondition: plan.PreconditionNameFree})
}

// deleteClaim deletes the claim of a worker that scale-in removed.
func (r *Reconciler) deleteClaim(ctx context.Context, s *observation, claim *corev1.PersistentVolumeClaim) error {
	err := r.client.Delete(ctx, claim, &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &claim.UID}})
	if err := ignoreNotFound(err); err != nil {
		return fmt.Errorf("deleting claim %s: %w", claim.Name, err)
	}
	r.events.Eventf(s.nodeSet, claim, corev1.EventTypeNormal, "SuccessfulDelete", "Delete",
		"deleted claim %s of a worker that scale-in removed", claim.Name)
	return nil
}

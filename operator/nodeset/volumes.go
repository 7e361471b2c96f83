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
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
)

// retention is what becomes of claims, Retain where the NodeSet does not say.
func retention(n *v1beta1.NodeSet) v1beta1.ClaimRetentionPolicy {
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

// owned gives the NodeSet the claim, so that it goes with it, where that is asked for.
func owned(n *v1beta1.NodeSet, claim *corev1.PersistentVolumeClaim) {
	if retention(n).WhenDeleted == v1beta1.ClaimDelete {
		claim.OwnerReferences = append(claim.OwnerReferences, *metav1.NewControllerRef(n, v1beta1.SchemeGroupVersion.WithKind(v1beta1.KindNodeSet)))
	}
}

// surplus are the claims, of all that the NodeSet has, whose worker scale-in has taken
// away for good: none while a worker is missing or on its way out, since the next
// one may have its name.
func surplus(s *seen, todo *plan.Todo, claims []corev1.PersistentVolumeClaim) []*corev1.PersistentVolumeClaim {
	if s.problem.reason != "" || s.wish.Deleting || s.wish.PerKubeNode || retention(s.nodeSet).WhenScaled != v1beta1.ClaimDelete {
		return nil
	}
	needed := map[string]bool{}
	for i := range s.workers {
		w := &s.workers[i]
		if !w.Going.IsZero() || w.Finished {
			return nil
		}
		for _, v := range s.pods[w.Pod].Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				needed[v.PersistentVolumeClaim.ClaimName] = true
			}
		}
	}
	if len(s.workers) < s.wish.Desired() || slices.ContainsFunc(todo.Steps, func(step plan.Step) bool { return step.Verb == plan.Create }) {
		return nil
	}
	var out []*corev1.PersistentVolumeClaim
	for i := range claims {
		if c := &claims[i]; !needed[c.Name] && c.DeletionTimestamp == nil {
			out = append(out, c)
		}
	}
	return out
}

// retain deletes the claims that the retention policy does not keep.
func (r *Reconciler) retain(ctx context.Context, s *seen, todo *plan.Todo) error {
	if len(s.nodeSet.Spec.VolumeClaimTemplates) == 0 || retention(s.nodeSet).WhenScaled != v1beta1.ClaimDelete {
		return nil
	}
	list := &corev1.PersistentVolumeClaimList{}
	selector := client.MatchingLabelsSelector{Selector: labels.SelectorFromSet(render.Selector(s.nodeSet.Name, s.cluster))}
	if err := r.client.List(ctx, list, client.InNamespace(s.nodeSet.Namespace), selector); err != nil {
		return fmt.Errorf("listing claims: %w", err)
	}
	for _, claim := range surplus(s, todo, list.Items) {
		uid := claim.UID
		err := r.client.Delete(ctx, claim, &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		if err := ignoreGone(err); err != nil {
			return fmt.Errorf("deleting claim %s: %w", claim.Name, err)
		}
		r.events.Eventf(s.nodeSet, claim, corev1.EventTypeNormal, "SuccessfulDelete", "Delete", "deleted claim %s of a worker that scale-in took away", claim.Name)
	}
	return nil
}

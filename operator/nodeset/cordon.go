package nodeset

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// cordonChange is what is to be done to a Kubernetes node.
type cordonChange struct {
	kubeNode string
	// slurmNode is the one whose drain it follows; empty: it is to be uncordoned.
	slurmNode string
}

// cordonedByUs is the Slurm node whose drain a Kubernetes node was cordoned for, empty
// if somebody else cordoned it, or nobody.
func cordonedByUs(node *corev1.Node) string {
	if !node.Spec.Unschedulable {
		return ""
	}
	return node.Annotations[v1beta1.AnnotationCordonedFor]
}

// cordonsOf are the changes by which Kubernetes nodes follow drains that somebody made in
// Slurm: where one of the NodeSet's workers was drained by others its Kubernetes node
// is cordoned, and uncordoned when that drain is gone. Cordons of others are left.
func cordonsOf(s *seen) []cordonChange {
	if !s.slurm.Fresh || s.wish.Deleting {
		return nil
	}
	drained := map[string]string{} // Slurm node by Kubernetes node
	mine := map[string]bool{}
	for i := range s.workers {
		w := &s.workers[i]
		if w.KubeNode == "" || !w.Going.IsZero() {
			continue
		}
		mine[w.SlurmName] = true
		if s.slurm.Records[w.SlurmName].Foreign() && s.nodeSet.Spec.CordonKubeNodes {
			drained[w.KubeNode] = w.SlurmName
		}
	}
	var out []cordonChange
	for _, name := range slices.Sorted(maps.Keys(s.kubeNodes)) {
		node := s.kubeNodes[name]
		by, want := cordonedByUs(node), drained[name]
		switch {
		case want != "" && !node.Spec.Unschedulable:
			out = append(out, cordonChange{name, want})
		case want == "" && by != "" && mine[by]:
			out = append(out, cordonChange{kubeNode: name})
		}
	}
	return out
}

// cordon applies the changes, each to the version of the Kubernetes node that was seen.
// That the operator may not is told in an event; it keeps nothing else from being done.
func (r *Reconciler) cordon(ctx context.Context, s *seen) error {
	for _, c := range cordonsOf(s) {
		node := s.kubeNodes[c.kubeNode]
		var mark any
		if c.slurmNode != "" {
			mark = c.slurmNode
		}
		data, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": node.ResourceVersion, "annotations": map[string]any{v1beta1.AnnotationCordonedFor: mark}},
			"spec":     map[string]any{"unschedulable": c.slurmNode != ""},
		})
		if err != nil {
			return err
		}
		err = r.client.Patch(ctx, node.DeepCopy(), client.RawPatch(types.MergePatchType, data), client.FieldOwner(FieldManager))
		switch {
		case apierrors.IsForbidden(err):
			r.events.Eventf(s.nodeSet, node, corev1.EventTypeWarning, "CordonForbidden", "Cordon", "the operator may not cordon Kubernetes nodes (the chart's rbac.cordonKubeNodes)")
			return nil
		case err != nil:
			return ignoreGone(fmt.Errorf("cordoning kubernetes node %s: %w", c.kubeNode, err))
		case c.slurmNode != "":
			r.events.Eventf(s.nodeSet, node, corev1.EventTypeNormal, "NodeCordon", "Cordon", "cordoned %s: slurm node %s was drained", c.kubeNode, c.slurmNode)
		default:
			r.events.Eventf(s.nodeSet, node, corev1.EventTypeNormal, "NodeCordon", "Uncordon", "uncordoned %s: the drain in slurm is gone", c.kubeNode)
		}
	}
	return nil
}

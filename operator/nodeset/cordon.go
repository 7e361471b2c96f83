package nodeset

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// cordonChange is what is to be done to a Kubernetes node.
type cordonChange struct {
	kubeNode string
	// slurmNode is the one whose drain it follows; empty: it is to be uncordoned.
	slurmNode string
}

// cordonMark is AnnotationCordonedFor for a Slurm node of the NodeSet; without one it is
// what all of them begin with.
func (s *seen) cordonMark(slurmNode string) string {
	return s.nodeSet.Namespace + "/" + s.nodeSet.Name + "/" + slurmNode
}

// cordonedByUs reports whether the operator cordoned a Kubernetes node.
func cordonedByUs(node *corev1.Node) bool {
	return node.Spec.Unschedulable && node.Annotations[v1beta1.AnnotationCordonedFor] != ""
}

// cordonsOf are the changes by which Kubernetes nodes follow drains that somebody made in
// Slurm: where one of the NodeSet's workers was drained by others its Kubernetes node
// is cordoned. It stays so when the worker is gone, and is uncordoned when that drain is,
// when the worker is elsewhere, when nobody asks for it any more, and with the NodeSet's
// end. Cordons of others, and for others, are left.
func cordonsOf(s *seen, todo *plan.Todo) []cordonChange {
	if (!s.slurm.Fresh || s.problem.reason != "") && !todo.Finished {
		return nil
	}
	at := map[string]string{}      // Kubernetes node by Slurm node
	drained := map[string]string{} // Slurm node by Kubernetes node
	asked := s.nodeSet.Spec.CordonKubeNodes && !s.wish.Deleting
	for i := range s.workers {
		w := &s.workers[i]
		if w.KubeNode == "" || !w.Going.IsZero() {
			continue
		}
		at[w.SlurmName] = w.KubeNode
		if asked && s.slurm.Records[w.SlurmName].Foreign() {
			drained[w.KubeNode] = w.SlurmName
		}
	}
	over := func(kubeNode, slurmNode string) bool {
		elsewhere := at[slurmNode] != "" && at[slurmNode] != kubeNode
		return !s.nodeSet.Spec.CordonKubeNodes || todo.Finished || elsewhere || !s.slurm.Records[slurmNode].Foreign()
	}
	var out []cordonChange
	for _, name := range slices.Sorted(maps.Keys(s.kubeNodes)) {
		node, want := s.kubeNodes[name], drained[name]
		slurmNode, ours := strings.CutPrefix(node.Annotations[v1beta1.AnnotationCordonedFor], s.cordonMark(""))
		switch {
		case want != "" && !node.Spec.Unschedulable:
			out = append(out, cordonChange{name, want})
		case want == "" && ours && cordonedByUs(node) && over(name, slurmNode):
			out = append(out, cordonChange{kubeNode: name})
		}
	}
	return out
}

// cordon applies the changes, each to the version of the Kubernetes node that was seen.
// That the operator may not is told in an event; it keeps nothing else from being done.
func (r *Reconciler) cordon(ctx context.Context, s *seen, todo *plan.Todo) error {
	for _, c := range cordonsOf(s, todo) {
		node := s.kubeNodes[c.kubeNode]
		var mark any
		if c.slurmNode != "" {
			mark = s.cordonMark(c.slurmNode)
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
			r.events.Eventf(s.nodeSet, node, corev1.EventTypeNormal, "NodeCordon", "Uncordon", "uncordoned %s: the drain in slurm is gone, or nothing is to follow it", c.kubeNode)
		}
	}
	return nil
}

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

// cordonChange is a change to make to a Kubernetes node.
type cordonChange struct {
	kubeNode string
	// slurmNode is the Slurm node whose drain the cordon follows; empty to uncordon.
	slurmNode string
}

// cordonMark is the value of AnnotationCordonedFor for a Slurm node of the NodeSet. Without a name
// it is the prefix of all these values.
func (s *observation) cordonMark(slurmNode string) string {
	return s.nodeSet.Namespace + "/" + s.nodeSet.Name + "/" + slurmNode
}

// isCordonedByUs reports whether the operator cordoned a Kubernetes node.
func isCordonedByUs(node *corev1.Node) bool {
	return node.Spec.Unschedulable && node.Annotations[v1beta1.AnnotationCordonedFor] != ""
}

// cordonChanges returns the changes by which Kubernetes nodes follow drains that somebody made in
// Slurm. It cordons the Kubernetes node of a worker that others drained. The node stays cordoned
// when the worker is gone. It is uncordoned when the drain ends, when the worker runs elsewhere,
// when the NodeSet stops requesting cordons, and when the NodeSet is gone. Cordons by others, and
// for other NodeSets, stay.
func cordonChanges(s *observation, actions *plan.Actions) []cordonChange {
	if (!s.slurm.Fresh || s.problem.reason != "") && !actions.DeletionDone {
		return nil
	}
	at := map[string]string{}      // Kubernetes node by Slurm node
	drained := map[string]string{} // Slurm node by Kubernetes node
	asked := s.nodeSet.Spec.CordonKubeNodes && !s.desired.Deleting
	for i := range s.workers {
		w := &s.workers[i]
		if w.KubeNode == "" || !w.DeletedAt.IsZero() {
			continue
		}
		at[w.SlurmName] = w.KubeNode
		if asked && s.slurm.Records[w.SlurmName].OutOfServiceByOthers() {
			drained[w.KubeNode] = w.SlurmName
		}
	}
	over := func(kubeNode, slurmNode string) bool {
		elsewhere := at[slurmNode] != "" && at[slurmNode] != kubeNode
		return !s.nodeSet.Spec.CordonKubeNodes || actions.DeletionDone || elsewhere ||
			!s.slurm.Records[slurmNode].OutOfServiceByOthers()
	}
	var out []cordonChange
	for _, name := range slices.Sorted(maps.Keys(s.kubeNodes)) {
		node, want := s.kubeNodes[name], drained[name]
		slurmNode, ours := strings.CutPrefix(node.Annotations[v1beta1.AnnotationCordonedFor], s.cordonMark(""))
		switch {
		case want != "" && !node.Spec.Unschedulable:
			out = append(out, cordonChange{name, want})
		case want == "" && ours && isCordonedByUs(node) && over(name, slurmNode):
			out = append(out, cordonChange{kubeNode: name})
		}
	}
	return out
}

// applyCordons applies the changes, each to the observed version of the Kubernetes node. A missing
// permission is reported in an event and blocks nothing else.
func (r *Reconciler) applyCordons(ctx context.Context, s *observation, actions *plan.Actions) error {
	for _, c := range cordonChanges(s, actions) {
		node := s.kubeNodes[c.kubeNode]
		var mark any
		if c.slurmNode != "" {
			mark = s.cordonMark(c.slurmNode)
		}
		data, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": node.ResourceVersion,
				"annotations": map[string]any{v1beta1.AnnotationCordonedFor: mark}},
			"spec": map[string]any{"unschedulable": c.slurmNode != ""},
		})
		if err != nil {
			return err
		}
		err = r.client.Patch(ctx, node.DeepCopy(), client.RawPatch(types.MergePatchType, data),
			client.FieldOwner(FieldManager))
		switch {
		case apierrors.IsForbidden(err):
			r.events.Eventf(s.nodeSet, node, corev1.EventTypeWarning, "CordonForbidden", "Cordon",
				"the operator is not allowed to cordon Kubernetes nodes (set the chart's rbac.cordonKubeNodes)")
			return nil
		case err != nil:
			return ignoreNotFound(fmt.Errorf("cordoning kubernetes node %s: %w", c.kubeNode, err))
		case c.slurmNode != "":
			r.events.Eventf(s.nodeSet, node, corev1.EventTypeNormal, "NodeCordon", "Cordon",
				"cordoned %s: slurm node %s was drained", c.kubeNode, c.slurmNode)
		default:
			r.events.Eventf(s.nodeSet, node, corev1.EventTypeNormal, "NodeCordon", "Uncordon",
				"uncordoned %s: the drain in slurm ended, or cordons do not follow it any more", c.kubeNode)
		}
	}
	return nil
}

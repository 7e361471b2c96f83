package nodeset

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// cordonMark is the value of AnnotationCordonedFor for a Slurm node of the NodeSet. Without a name
// it is the prefix of all these values.
func (s *observation) cordonMark(slurmNode string) string {
	return s.nodeSet.Namespace + "/" + s.nodeSet.Name + "/" + slurmNode
}

// cordonableKubeNodes returns the Kubernetes nodes on which workers run, and those that the operator
// cordoned for this NodeSet.
func (s *observation) cordonableKubeNodes() map[string]plan.KubeNode {
	out := map[string]plan.KubeNode{}
	for name, node := range s.kubeNodes {
		if slurmNode, ours := strings.CutPrefix(node.Annotations[v1beta1.AnnotationCordonedFor],
			s.cordonMark("")); ours {
			out[name] = plan.KubeNode{Unschedulable: node.Spec.Unschedulable, CordonedFor: slurmNode}
		}
	}
	for i := range s.workers {
		name := s.workers[i].KubeNode
		if node := s.kubeNodes[name]; node != nil && out[name].CordonedFor == "" {
			out[name] = plan.KubeNode{Unschedulable: node.Spec.Unschedulable}
		}
	}
	return out
}

// applyCordons applies the changes, each to the observed version of the Kubernetes node. A missing
// permission is reported in an event and blocks nothing else.
func (r *Reconciler) applyCordons(ctx context.Context, s *observation, changes []plan.CordonChange) error {
	for _, c := range changes {
		node := s.kubeNodes[c.KubeNode]
		var mark any
		if c.SlurmNode != "" {
			mark = s.cordonMark(c.SlurmNode)
		}
		data, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": node.ResourceVersion,
				"annotations": map[string]any{v1beta1.AnnotationCordonedFor: mark}},
			"spec": map[string]any{"unschedulable": c.SlurmNode != ""},
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
			return ignoreNotFound(fmt.Errorf("cordoning kubernetes node %s: %w", c.KubeNode, err))
		case c.SlurmNode != "":
			r.events.Eventf(s.nodeSet, node, corev1.EventTypeNormal, "NodeCordon", "Cordon",
				"cordoned %s: slurm node %s was drained", c.KubeNode, c.SlurmNode)
		default:
			r.events.Eventf(s.nodeSet, node, corev1.EventTypeNormal, "NodeCordon", "Uncordon",
				"uncordoned %s: the drain in slurm ended, or cordons do not follow it any more", c.KubeNode)
		}
	}
	return nil
}

package render

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
)

// LabelRevision is the label of workers with the Hash of their Revision. The operator reads it.
const LabelRevision = appsv1.ControllerRevisionHashLabelKey

// sharedLabels returns the labels that all workers of the NodeSet have.
func (in Input) sharedLabels() map[string]string {
	out := names.NodeSetSelector(in.NodeSet.Name, in.Cluster)
	out[v1beta1.LabelAppComponent] = names.ComponentWorker
	out[v1beta1.LabelScalingMode] = string(in.scalingMode())
	return out
}

// Owner returns the owner reference for objects that the NodeSet creates.
func Owner(n *v1beta1.NodeSet) metav1.OwnerReference {
	return *metav1.NewControllerRef(n, v1beta1.SchemeGroupVersion.WithKind(v1beta1.KindNodeSet))
}

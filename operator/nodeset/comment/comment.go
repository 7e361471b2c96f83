// Package comment is what the comment of a Slurm node tells: the pod that runs the node, and the NodeSet that owns it.
package comment

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Comment is the comment of a worker's Slurm node. It names the pod that runs the node.
// KubeNode is empty before the pod is scheduled.
type Comment struct {
	Namespace   string `json:"namespace"`
	PodName     string `json:"podName"`
	KubeNode    string `json:"node"`
	NodeSetName string `json:"nodeSetName"`
	NodeSetUID  string `json:"nodeSetUID"`
	// NamespaceUID distinguishes namespaces of the same name, in this and in other Kubernetes
	// clusters. A NodeSet that is created again with the same name is the same owner.
	NamespaceUID string `json:"namespaceUID,omitempty"`
}

// OfWorker returns the comment of the Slurm node of a worker's pod.
func OfWorker(nodeSet *v1beta1.NodeSet, namespace types.UID, pod *corev1.Pod) string {
	return formatComment(nodeSet, namespace, pod.Name, pod.Spec.NodeName)
}

// OfFuture returns the comment of a FUTURE record, which no pod runs.
func OfFuture(nodeSet *v1beta1.NodeSet, namespace types.UID) string {
	return formatComment(nodeSet, namespace, "", "")
}

// WithoutPod returns the comment of a record that stays when its pod is gone.
func WithoutPod(nodeSet *v1beta1.NodeSet, namespace types.UID, kubeNode string) string {
	return formatComment(nodeSet, namespace, "", kubeNode)
}

// BelongsTo reports whether the comment names the NodeSet, or an earlier one of its name.
func (c Comment) BelongsTo(nodeSet *v1beta1.NodeSet, namespace types.UID) bool {
	same := namespace != "" && c.NamespaceUID == string(namespace) && c.NodeSetName == nodeSet.Name
	return same || c.NodeSetUID == string(nodeSet.UID)
}

func formatComment(nodeSet *v1beta1.NodeSet, namespace types.UID, pod, kubeNode string) string {
	text, err := json.Marshal(Comment{
		Namespace: nodeSet.Namespace, PodName: pod, KubeNode: kubeNode,
		NodeSetName: nodeSet.Name, NodeSetUID: string(nodeSet.UID), NamespaceUID: string(namespace),
	})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return string(text)
}

// Parse parses a comment. It reports false for a text that is not one of ours, such as an
// administrator's.
func Parse(text string) (Comment, bool) {
	var n Comment
	err := json.Unmarshal([]byte(text), &n)
	return n, err == nil && n.NodeSetName != "" && n.NodeSetUID != ""
}

// Package comment reads and writes the comment of a Slurm node: the pod that runs the node, and the NodeSet that owns
// it.
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
	// Shape identifies the resources that the record was created with. It stays as long as the record. It is empty for
	// a record that an earlier version or a slurmd created.
	Shape string `json:"shape,omitempty"`
}

// OfWorker returns the comment of the Slurm node of a worker's pod. before is the comment that the node has.
func OfWorker(nodeSet *v1beta1.NodeSet, namespace types.UID, pod *corev1.Pod, before string) string {
	note, _ := Parse(before)
	return formatComment(nodeSet, namespace, Comment{PodName: pod.Name, KubeNode: pod.Spec.NodeName, Shape: note.Shape})
}

// OfFuture returns the comment of a FUTURE record of a shape, which no pod runs.
func OfFuture(nodeSet *v1beta1.NodeSet, namespace types.UID, shape string) string {
	return formatComment(nodeSet, namespace, Comment{Shape: shape})
}

// WithoutPod returns the comment of a record that stays when its pod is gone. It keeps the Kubernetes node and the shape
// of the note.
func WithoutPod(nodeSet *v1beta1.NodeSet, namespace types.UID, note Comment) string {
	return formatComment(nodeSet, namespace, Comment{KubeNode: note.KubeNode, Shape: note.Shape})
}

// BelongsTo reports whether the comment names the NodeSet, or an earlier one of its name.
func (c Comment) BelongsTo(nodeSet *v1beta1.NodeSet, namespace types.UID) bool {
	same := namespace != "" && c.NamespaceUID == string(namespace) && c.NodeSetName == nodeSet.Name
	return same || c.NodeSetUID == string(nodeSet.UID)
}

// formatComment returns a comment of a NodeSet with the pod, the Kubernetes node and the shape of the note.
func formatComment(nodeSet *v1beta1.NodeSet, namespace types.UID, note Comment) string {
	note.Namespace, note.NodeSetName = nodeSet.Namespace, nodeSet.Name
	note.NodeSetUID, note.NamespaceUID = string(nodeSet.UID), string(namespace)
	text, err := json.Marshal(note)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return string(text)
}

// Parse parses a comment. It returns false for a text that the operator did not write, such as an administrator's.
func Parse(text string) (Comment, bool) {
	var n Comment
	err := json.Unmarshal([]byte(text), &n)
	return n, err == nil && n.NodeSetName != "" && n.NodeSetUID != ""
}

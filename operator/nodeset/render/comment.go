package render

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Note is the comment of a worker's Slurm node: which pod stands behind it. Node is
// the name of the Kubernetes node, empty before the pod has one.
type Note struct {
	Namespace   string `json:"namespace"`
	PodName     string `json:"podName"`
	Node        string `json:"node"`
	NodeSetName string `json:"nodeSetName"`
	NodeSetUID  string `json:"nodeSetUID"`
	// NamespaceUID tells namespaces of that name apart, in this Kubernetes cluster and
	// others; a NodeSet of the name that is made anew is the same owner.
	NamespaceUID string `json:"namespaceUID,omitempty"`
}

// Comment is the text of the comment for a worker's pod.
func Comment(nodeSet *v1beta1.NodeSet, namespace types.UID, pod *corev1.Pod) string {
	return noteOf(nodeSet, namespace, pod.Name, pod.Spec.NodeName)
}

// FutureComment is the text of the comment of a FUTURE record: no pod stands behind it.
func FutureComment(nodeSet *v1beta1.NodeSet, namespace types.UID) string {
	return noteOf(nodeSet, namespace, "", "")
}

// Of reports whether the note names the NodeSet, or one of its name that was there before.
func (n Note) Of(nodeSet *v1beta1.NodeSet, namespace types.UID) bool {
	same := namespace != "" && n.NamespaceUID == string(namespace) && n.NodeSetName == nodeSet.Name
	return same || n.NodeSetUID == string(nodeSet.UID)
}

func noteOf(nodeSet *v1beta1.NodeSet, namespace types.UID, pod, kubeNode string) string {
	text, err := json.Marshal(Note{
		Namespace: nodeSet.Namespace, PodName: pod, Node: kubeNode,
		NodeSetName: nodeSet.Name, NodeSetUID: string(nodeSet.UID), NamespaceUID: string(namespace),
	})
	if err != nil {
		panic(err) // strings always are JSON
	}
	return string(text)
}

// ReadComment reads a comment. It reports false for texts that are not one of ours,
// such as an administrator's.
func ReadComment(text string) (Note, bool) {
	var n Note
	err := json.Unmarshal([]byte(text), &n)
	return n, err == nil && n.NodeSetName != "" && n.NodeSetUID != ""
}

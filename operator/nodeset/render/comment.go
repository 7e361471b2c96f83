package render

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

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
}

// Comment is the text of the comment for a worker's pod.
func Comment(nodeSet *v1beta1.NodeSet, pod *corev1.Pod) string {
	return noteOf(nodeSet, pod.Name, pod.Spec.NodeName)
}

// FutureComment is the text of the comment of a FUTURE record: no pod stands behind it.
func FutureComment(nodeSet *v1beta1.NodeSet) string { return noteOf(nodeSet, "", "") }

func noteOf(nodeSet *v1beta1.NodeSet, pod, kubeNode string) string {
	text, err := json.Marshal(Note{
		Namespace: nodeSet.Namespace, PodName: pod, Node: kubeNode,
		NodeSetName: nodeSet.Name, NodeSetUID: string(nodeSet.UID),
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

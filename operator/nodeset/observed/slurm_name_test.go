package observed

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
)

// TestSlurmNameOfAWorkerWithTheNetworkOfItsNode: its slurmd has the name of the Kubernetes node (fieldRef spec.nodeName), whatever the
// label contains.
func TestSlurmNameOfAWorkerWithTheNetworkOfItsNode(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Labels = map[string]string{v1beta1.LabelPodIndex: "0", v1beta1.LabelPodHostname: "kube-1"}
	pod.Spec.HostNetwork = true
	pod.Spec.Containers = []corev1.Container{{Name: render.ContainerSlurmd, Env: []corev1.EnvVar{{Name: render.EnvHostname,
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}}}}
	for _, kubeNode := range []string{"", "kube-0"} {
		if pod.Spec.NodeName = kubeNode; SlurmName(pod) != kubeNode {
			t.Errorf("the name is %s on %q", SlurmName(pod), kubeNode)
		}
	}
}

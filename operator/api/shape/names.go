package shape

import "github.com/slurmtide/slurmtide/operator/api/v1beta1"

// WorkerPrefix is what the names of the NodeSet's Slurm nodes begin with, before their
// ordinals, such as "gpu-". It is empty where they are named like Kubernetes nodes.
func WorkerPrefix(n *v1beta1.NodeSet) string {
	spec, err := n.Spec.Template.Spec.PodSpec()
	switch {
	case err != nil, spec.HostNetwork, n.Spec.ScalingMode == v1beta1.ScalingModeDaemonSet:
		return ""
	case spec.Hostname != "":
		return spec.Hostname
	}
	return n.Name + "-"
}

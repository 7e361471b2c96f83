package names

import "github.com/slurmtide/slurmtide/operator/api/v1beta1"

// WorkerPrefix returns the prefix of the NodeSet's Slurm node names, such as "gpu-". The ordinal
// follows it. The prefix is empty if the Slurm nodes are named after Kubernetes nodes.
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

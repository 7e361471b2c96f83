// Package v1alpha1 holds the types of the API group view.slinky.slurm.net, version
// v1alpha1: the jobs, nodes and partitions of Slurm clusters as read-only objects of
// the Kubernetes API. The metrics adapter serves them from what it last read of
// slurmrestd; nothing of them is stored in Kubernetes.
//
// An object lies in the namespace of the Controller or Cluster that stands for its
// Slurm cluster and is named <that object's name>.<job id, node name or partition
// name>. Names are Slurm's own and may hold what other objects' names may not, such
// as upper case.
//
// spec is what was configured or asked for, status what slurmctld made of it. A field
// that Slurm does not tell, or has unset, is left out: a number that is there is a
// number, 0 too. "unlimited" stands for Slurm's infinite.
//
// +kubebuilder:object:generate=true
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=net.slurm.slinky.view.v1alpha1
// +groupName=view.slinky.slurm.net
package v1alpha1

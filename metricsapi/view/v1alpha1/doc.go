// Package v1alpha1 contains the types of the API group view.slinky.slurm.net, version v1alpha1:
// jobs, nodes and partitions of Slurm clusters as read-only objects of the Kubernetes API. The
// metrics adapter serves them from its last reading of slurmrestd. They are not stored in
// Kubernetes.
//
// An object is in the namespace of the Controller or Cluster that represents its Slurm cluster.
// Its name is <name of that object>.<job id, node name or partition name>. Slurm's names may
// contain characters that names of other Kubernetes objects must not, such as upper case.
//
// spec is what was requested or configured; status is what slurmctld reports. A field that Slurm
// does not report, or that is unset, is omitted; a number in an object is always a real value,
// also 0. "unlimited" represents Slurm's infinite.
//
// +kubebuilder:object:generate=true
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=net.slurm.slinky.view.v1alpha1
// +groupName=view.slinky.slurm.net
package v1alpha1

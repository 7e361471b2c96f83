package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SlurmNode is a record of slurmctld's node table (scontrol show node), including FUTURE records.
// It is not a Kubernetes Node.
//
// +kubebuilder:object:root=true
type SlurmNode struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the node's configuration.
	Spec SlurmNodeSpec `json:"spec"`

	// status is the node's state as slurmctld reports it.
	Status SlurmNodeStatus `json:"status"`
}

// SlurmNodeList is a list of SlurmNodes, sorted by namespace, cluster and name.
//
// +kubebuilder:object:root=true
type SlurmNodeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SlurmNode `json:"items"`
}

// SlurmNodeSpec is a node's configuration, or what its slurmd registered.
type SlurmNodeSpec struct {
	// cluster is the Slurm cluster that has the node.
	Cluster ClusterReference `json:"cluster"`
	// name is Slurm's name of the node.
	Name string `json:"name"`
	// address is NodeAddr.
	// +optional
	Address string `json:"address,omitempty"`
	// hostname is NodeHostName.
	// +optional
	Hostname string `json:"hostname,omitempty"`
	// partitions are the partitions of the node.
	// +optional
	// +listType=atomic
	Partitions []string `json:"partitions,omitempty"`
	// features are the features that the node can have.
	// +optional
	// +listType=atomic
	Features []string `json:"features,omitempty"`
	// cpus is the number of CPUs.
	CPUs int64 `json:"cpus"`
	// memoryMiB is the memory in MiB (RealMemory).
	MemoryMiB int64 `json:"memoryMiB"`
	// tmpDiskMiB is the temporary disk space in MiB.
	// +optional
	TmpDiskMiB int64 `json:"tmpDiskMiB,omitempty"`
	// weight is the node's weight; nodes with lower weight are allocated first.
	Weight int64 `json:"weight"`
	// gres are the generic resources in Slurm's format ("gpu:h100:4").
	// +optional
	GRES string `json:"gres,omitempty"`
	// tres are the trackable resources in Slurm's format.
	// +optional
	TRES string `json:"tres,omitempty"`
	// topology is the node's position in the topology.
	// +optional
	Topology string `json:"topology,omitempty"`
	// comment is the administrator's comment.
	// +optional
	Comment string `json:"comment,omitempty"`
	// extra is arbitrary text that administrators or programs set.
	// +optional
	Extra string `json:"extra,omitempty"`
	// instanceID is the id of the cloud instance.
	// +optional
	InstanceID string `json:"instanceID,omitempty"`
	// instanceType is the type of the cloud instance.
	// +optional
	InstanceType string `json:"instanceType,omitempty"`
}

// SlurmNodeStatus is the state of a node. Times are by slurmctld's clock.
type SlurmNodeStatus struct {
	// state is the state that sinfo shows, such as "idle", "mixed", "draining" and "drained".
	State string `json:"state"`
	// states are the base state and the flags, such as [IDLE, DRAIN].
	// +optional
	// +listType=atomic
	States []string `json:"states,omitempty"`
	// reason is why the node is drained or down.
	// +optional
	Reason string `json:"reason,omitempty"`
	// reasonBy is the user who set the reason.
	// +optional
	ReasonBy string `json:"reasonBy,omitempty"`
	// reasonTime is when the reason was set.
	// +optional
	ReasonTime *metav1.Time `json:"reasonTime,omitempty"`
	// activeFeatures are the active features of the node.
	// +optional
	// +listType=atomic
	ActiveFeatures []string `json:"activeFeatures,omitempty"`
	// effectiveCPUs is the number of CPUs that jobs may use.
	EffectiveCPUs int64 `json:"effectiveCPUs"`
	// allocatedCPUs is the number of allocated CPUs.
	AllocatedCPUs int64 `json:"allocatedCPUs"`
	// idleCPUs is the number of CPUs that are not allocated.
	IdleCPUs int64 `json:"idleCPUs"`
	// allocatedMemoryMiB is the allocated memory in MiB.
	AllocatedMemoryMiB int64 `json:"allocatedMemoryMiB"`
	// freeMemoryMiB is the free memory as the node's operating system reports it, in MiB.
	// +optional
	FreeMemoryMiB *int64 `json:"freeMemoryMiB,omitempty"`
	// load is the one-minute load average as a decimal number, such as "0.25".
	// +optional
	Load string `json:"load,omitempty"`
	// gresUsed are the allocated generic resources in Slurm's format.
	// +optional
	GRESUsed string `json:"gresUsed,omitempty"`
	// tresUsed are the allocated trackable resources in Slurm's format.
	// +optional
	TRESUsed string `json:"tresUsed,omitempty"`
	// reservation is the active reservation of the node.
	// +optional
	Reservation string `json:"reservation,omitempty"`
	// owner is the user to whom the node belongs for now: no other user gets jobs on it.
	// +optional
	Owner string `json:"owner,omitempty"`
	// bootTime is when the node booted.
	// +optional
	BootTime *metav1.Time `json:"bootTime,omitempty"`
	// slurmdStartTime is when the node's slurmd started.
	// +optional
	SlurmdStartTime *metav1.Time `json:"slurmdStartTime,omitempty"`
	// lastBusy is when the node last had a job.
	// +optional
	LastBusy *metav1.Time `json:"lastBusy,omitempty"`
	// resumeAfter is when slurmctld automatically resumes a node that is down or drained.
	// +optional
	ResumeAfter *metav1.Time `json:"resumeAfter,omitempty"`
	// version is the version of the node's slurmd.
	// +optional
	Version string `json:"version,omitempty"`
	// architecture is the architecture of the node's processors.
	// +optional
	Architecture string `json:"architecture,omitempty"`
	// os is the node's operating system.
	// +optional
	OS string `json:"os,omitempty"`
}

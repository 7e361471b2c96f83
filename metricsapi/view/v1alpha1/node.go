package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SlurmNode is one record of slurmctld's node table (scontrol show node), FUTURE ones
// too. It is no Node of Kubernetes.
//
// +kubebuilder:object:root=true
type SlurmNode struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is configured.
	Spec SlurmNodeSpec `json:"spec"`

	// status is what slurmctld knows of the node.
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

// SlurmNodeSpec is what is configured of a node, or what its slurmd registered.
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
	// partitions are those that the node is in.
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
	// weight is the node's weight: lighter nodes are taken first.
	Weight int64 `json:"weight"`
	// gres are the generic resources, in Slurm's words ("gpu:h100:4").
	// +optional
	GRES string `json:"gres,omitempty"`
	// tres are the trackable resources, in Slurm's words.
	// +optional
	TRES string `json:"tres,omitempty"`
	// topology is the node's place in the topology.
	// +optional
	Topology string `json:"topology,omitempty"`
	// comment is the administrator's.
	// +optional
	Comment string `json:"comment,omitempty"`
	// extra is the text that administrators or other programs keep there.
	// +optional
	Extra string `json:"extra,omitempty"`
	// instanceID is the id of the cloud instance.
	// +optional
	InstanceID string `json:"instanceID,omitempty"`
	// instanceType is the type of the cloud instance.
	// +optional
	InstanceType string `json:"instanceType,omitempty"`
}

// SlurmNodeStatus is what slurmctld knows of a node. Times are slurmctld's, by its clock.
type SlurmNodeStatus struct {
	// state is the one word that sinfo shows, such as "idle", "mixed", "draining" and "drained".
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
	// reasonTime is when it was set.
	// +optional
	ReasonTime *metav1.Time `json:"reasonTime,omitempty"`
	// activeFeatures are the features that the node has now.
	// +optional
	// +listType=atomic
	ActiveFeatures []string `json:"activeFeatures,omitempty"`
	// effectiveCPUs is the number of CPUs that jobs may use.
	EffectiveCPUs int64 `json:"effectiveCPUs"`
	// allocatedCPUs is the number of CPUs that jobs have now.
	AllocatedCPUs int64 `json:"allocatedCPUs"`
	// idleCPUs is the number of CPUs that are left.
	IdleCPUs int64 `json:"idleCPUs"`
	// allocatedMemoryMiB is the memory that jobs have now, in MiB.
	AllocatedMemoryMiB int64 `json:"allocatedMemoryMiB"`
	// freeMemoryMiB is the memory that the node's operating system calls free, in MiB.
	// +optional
	FreeMemoryMiB *int64 `json:"freeMemoryMiB,omitempty"`
	// load is the load average of the last minute as a decimal number, such as "0.25".
	// +optional
	Load string `json:"load,omitempty"`
	// gresUsed are the generic resources that jobs have now, in Slurm's words.
	// +optional
	GRESUsed string `json:"gresUsed,omitempty"`
	// tresUsed are the trackable resources that jobs have now, in Slurm's words.
	// +optional
	TRESUsed string `json:"tresUsed,omitempty"`
	// reservation is the reservation that holds the node now.
	// +optional
	Reservation string `json:"reservation,omitempty"`
	// owner is the user who has the node alone.
	// +optional
	Owner string `json:"owner,omitempty"`
	// bootTime is when the node started.
	// +optional
	BootTime *metav1.Time `json:"bootTime,omitempty"`
	// slurmdStartTime is when its slurmd started.
	// +optional
	SlurmdStartTime *metav1.Time `json:"slurmdStartTime,omitempty"`
	// lastBusy is when it last had a job.
	// +optional
	LastBusy *metav1.Time `json:"lastBusy,omitempty"`
	// resumeAfter is when a node that is down or drained resumes by itself.
	// +optional
	ResumeAfter *metav1.Time `json:"resumeAfter,omitempty"`
	// version is its slurmd's version.
	// +optional
	Version string `json:"version,omitempty"`
	// architecture is that of its processors.
	// +optional
	Architecture string `json:"architecture,omitempty"`
	// os is its operating system.
	// +optional
	OS string `json:"os,omitempty"`
}

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// SlurmPartition is a record of slurmctld's partition table (scontrol show partition).
//
// +kubebuilder:object:root=true
type SlurmPartition struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the partition's configuration.
	Spec SlurmPartitionSpec `json:"spec"`

	// status is the partition's state as slurmctld reports it.
	Status SlurmPartitionStatus `json:"status"`
}

// SlurmPartitionList is a list of SlurmPartitions, sorted by namespace, cluster and name.
//
// +kubebuilder:object:root=true
type SlurmPartitionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SlurmPartition `json:"items"`
}

// SlurmPartitionSpec is a partition's configuration.
type SlurmPartitionSpec struct {
	// cluster is the Slurm cluster that has the partition.
	Cluster ClusterReference `json:"cluster"`
	// name is Slurm's name of the partition.
	Name string `json:"name"`
	// default is true for the partition of jobs that specify none. slurmrestd reports it since API v0.0.43; with older versions it is omitted for every partition.
	// +optional
	Default bool `json:"default,omitempty"`
	// position is the partition's place in slurmctld's table, beginning with 1. sinfo shows partitions in this order.
	// +optional
	Position int64 `json:"position,omitempty"`
	// nodes is the hostlist of the partition's nodes.
	// +optional
	Nodes string `json:"nodes,omitempty"`
	// nodeSets are the partition's nodes as written in slurm.conf.
	// +optional
	NodeSets string `json:"nodeSets,omitempty"`
	// minNodes is the minimum number of nodes of a job.
	// +optional
	MinNodes int64 `json:"minNodes,omitempty"`
	// maxNodes is the maximum number of nodes of a job, or "unlimited".
	// +optional
	MaxNodes *intstr.IntOrString `json:"maxNodes,omitempty"`
	// maxTimeMinutes is the maximum time limit of a job in minutes, or "unlimited".
	// +optional
	MaxTimeMinutes *intstr.IntOrString `json:"maxTimeMinutes,omitempty"`
	// defaultTimeMinutes is the time limit in minutes of a job that specifies none, or "unlimited".
	// +optional
	DefaultTimeMinutes *intstr.IntOrString `json:"defaultTimeMinutes,omitempty"`
	// priorityTier is the partition's priority tier; jobs of higher tiers are scheduled first.
	PriorityTier int64 `json:"priorityTier"`
	// qos is the partition's quality of service.
	// +optional
	QOS string `json:"qos,omitempty"`
	// allowAccounts are the accounts that may use the partition, separated by commas; omitted if all may.
	// +optional
	AllowAccounts string `json:"allowAccounts,omitempty"`
	// denyAccounts are the accounts that may not use the partition, separated by commas.
	// +optional
	DenyAccounts string `json:"denyAccounts,omitempty"`
	// allowGroups are the groups that may use the partition, separated by commas; omitted if all may.
	// +optional
	AllowGroups string `json:"allowGroups,omitempty"`
	// allowQOS are the qualities of service that may use the partition, separated by commas; omitted if all may.
	// +optional
	AllowQOS string `json:"allowQOS,omitempty"`
	// denyQOS are the qualities of service that may not use the partition, separated by commas.
	// +optional
	DenyQOS string `json:"denyQOS,omitempty"`
	// preemptMode is how jobs of the partition are preempted.
	// +optional
	// +listType=atomic
	PreemptMode []string `json:"preemptMode,omitempty"`
}

// SlurmPartitionStatus is the state of a partition.
type SlurmPartitionStatus struct {
	// state is UP, DOWN, DRAIN, INACTIVE or UNKNOWN.
	State string `json:"state"`
	// totalNodes is the number of nodes, including FUTURE records.
	TotalNodes int64 `json:"totalNodes"`
	// totalCPUs is the number of CPUs of these nodes.
	TotalCPUs int64 `json:"totalCPUs"`
	// tres are the trackable resources of all nodes in Slurm's format.
	// +optional
	TRES string `json:"tres,omitempty"`
}

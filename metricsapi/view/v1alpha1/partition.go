package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// SlurmPartition is one record of slurmctld's partition table (scontrol show partition).
//
// +kubebuilder:object:root=true
type SlurmPartition struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is configured.
	Spec SlurmPartitionSpec `json:"spec"`

	// status is what slurmctld makes of it.
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

// SlurmPartitionSpec is what is configured of a partition.
type SlurmPartitionSpec struct {
	// cluster is the Slurm cluster that has the partition.
	Cluster ClusterReference `json:"cluster"`
	// name is Slurm's name of the partition.
	Name string `json:"name"`
	// default is true for the partition of jobs that name none. slurmrestd tells it from API v0.0.43 on; before that it is left out for every partition.
	// +optional
	Default bool `json:"default,omitempty"`
	// nodes is the hostlist of the partition's nodes.
	// +optional
	Nodes string `json:"nodes,omitempty"`
	// nodeSets is what slurm.conf says that the partition's nodes are.
	// +optional
	NodeSets string `json:"nodeSets,omitempty"`
	// minNodes is the least number of nodes of a job.
	// +optional
	MinNodes int64 `json:"minNodes,omitempty"`
	// maxNodes is the largest number of nodes of a job, or "unlimited".
	// +optional
	MaxNodes *intstr.IntOrString `json:"maxNodes,omitempty"`
	// maxTimeMinutes is the longest time limit of a job in minutes, or "unlimited".
	// +optional
	MaxTimeMinutes *intstr.IntOrString `json:"maxTimeMinutes,omitempty"`
	// defaultTimeMinutes is the time limit in minutes of a job that has none, or "unlimited".
	// +optional
	DefaultTimeMinutes *intstr.IntOrString `json:"defaultTimeMinutes,omitempty"`
	// priorityTier is the partition's tier: jobs of a higher one are looked at first.
	PriorityTier int64 `json:"priorityTier"`
	// qos is the partition's quality of service.
	// +optional
	QOS string `json:"qos,omitempty"`
	// allowAccounts and the fields below it are who may use the partition, separated by commas; left out for everyone.
	// +optional
	AllowAccounts string `json:"allowAccounts,omitempty"`
	// denyAccounts are accounts that may not.
	// +optional
	DenyAccounts string `json:"denyAccounts,omitempty"`
	// allowGroups are the groups that may.
	// +optional
	AllowGroups string `json:"allowGroups,omitempty"`
	// allowQOS are the qualities of service that may.
	// +optional
	AllowQOS string `json:"allowQOS,omitempty"`
	// denyQOS are those that may not.
	// +optional
	DenyQOS string `json:"denyQOS,omitempty"`
	// preemptMode is how jobs of the partition are preempted.
	// +optional
	// +listType=atomic
	PreemptMode []string `json:"preemptMode,omitempty"`
}

// SlurmPartitionStatus is what slurmctld makes of a partition.
type SlurmPartitionStatus struct {
	// state is UP, DOWN, DRAIN, INACTIVE or UNKNOWN.
	State string `json:"state"`
	// totalNodes is the number of nodes, FUTURE ones too.
	TotalNodes int64 `json:"totalNodes"`
	// totalCPUs is the number of their CPUs.
	TotalCPUs int64 `json:"totalCPUs"`
	// tres are the trackable resources of all nodes, in Slurm's words.
	// +optional
	TRES string `json:"tres,omitempty"`
}

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// NodeSet is a group of alike workers: pods that run slurmd and join one Slurm cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:unservedversion
// +kubebuilder:resource:path=nodesets,scope=Namespaced,shortName=nodesets;nss;slurmd
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="DESIRED",type=integer,JSONPath=`.status.desired`,description="Workers that there should be"
// +kubebuilder:printcolumn:name="REPLICAS",type=integer,JSONPath=`.status.replicas`,description="Workers that there are"
// +kubebuilder:printcolumn:name="UPDATED",type=integer,JSONPath=`.status.updatedReplicas`,description="Workers of the newest revision"
// +kubebuilder:printcolumn:name="READY",type=integer,JSONPath=`.status.readyReplicas`,description="Workers that are Ready"
// +kubebuilder:printcolumn:name="IDLE",type=integer,JSONPath=`.status.slurmIdle`,priority=1,description="Slurm nodes that are idle"
// +kubebuilder:printcolumn:name="ALLOCATED",type=integer,JSONPath=`.status.slurmAllocated`,priority=1,description="Slurm nodes that have work"
// +kubebuilder:printcolumn:name="DOWN",type=integer,JSONPath=`.status.slurmDown`,priority=1,description="Slurm nodes that are down"
// +kubebuilder:printcolumn:name="DRAIN",type=integer,JSONPath=`.status.slurmDrain`,priority=1,description="Slurm nodes that are drained or draining"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type NodeSet struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	// +optional
	Spec NodeSetSpec `json:"spec,omitzero"`

	// status is what was last seen; the operator writes it.
	// +optional
	Status v1beta1.NodeSetStatus `json:"status,omitzero"`
}

// NodeSetList is a list of NodeSets.
//
// +kubebuilder:object:root=true
type NodeSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeSet `json:"items"`
}

// NodeSetSpec is what is wanted of a NodeSet.
type NodeSetSpec struct {
	// clusterName names what the workers join: the Cluster of that name, or the
	// Controller if the annotation slinky.slurm.net/cluster-kind is "Controller".
	// +required
	// +kubebuilder:validation:MinLength=1
	ClusterName string `json:"clusterName"`

	// replicas is the number of workers in scaling mode StatefulSet.
	// +optional
	// +kubebuilder:default=1
	Replicas *int32 `json:"replicas,omitempty"`

	// maxReplicas is the most workers that the NodeSet may ever have: Slurm takes
	// jobs of up to that many nodes while there are fewer. The smaller of it and
	// the maxReplicas of the HorizontalPodAutoscaler that scales the NodeSet
	// holds. The field is ours.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`

	// scalingMode says whether there are replicas workers with ordinals
	// (StatefulSet) or one on each matching Kubernetes node (DaemonSet).
	// +optional
	// +kubebuilder:default=StatefulSet
	ScalingMode v1beta1.ScalingMode `json:"scalingMode,omitempty"`

	// slurmd is a Container (core/v1) that is laid over the workers' slurmd container.
	// +optional
	Slurmd v1beta1.Raw `json:"slurmd,omitzero"`

	// logfile is a Container (core/v1) that is laid over the container that shows
	// slurmd's log file.
	// +optional
	Logfile v1beta1.Raw `json:"logfile,omitzero"`

	// ssh lets users log in to workers on which they have a job.
	// +optional
	SSH *v1beta1.NodeSetSSH `json:"ssh,omitempty"`

	// extraConf is added to the Slurm nodes' line of configuration ("Weight=10 Gres=gpu:1").
	// +optional
	ExtraConf string `json:"extraConf,omitempty"`

	// partition is a Slurm partition of the workers of this NodeSet.
	// +optional
	Partition *v1beta1.NodeSetPartition `json:"partition,omitempty"`

	// template is laid over the workers' pods.
	// +optional
	Template v1beta1.PodTemplate `json:"template,omitzero"`

	// volumeClaimTemplates are PersistentVolumeClaims (core/v1), of which one each is
	// made per worker. Volume mounts find them by their names. Immutable.
	// +optional
	// +nullable
	// +listType=atomic
	VolumeClaimTemplates []v1beta1.VolumeClaimTemplate `json:"volumeClaimTemplates,omitempty"`

	// persistentVolumeClaimRetentionPolicy says what becomes of the workers' claims.
	// +optional
	PersistentVolumeClaimRetentionPolicy *v1beta1.ClaimRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty"`

	// updateStrategy says how workers change to a new revision.
	// +optional
	UpdateStrategy v1beta1.NodeSetUpdateStrategy `json:"updateStrategy,omitzero"`

	// drainPolicy says when a worker with work may be deleted after all. The field is ours.
	// +optional
	DrainPolicy *v1beta1.DrainPolicy `json:"drainPolicy,omitempty"`

	// revisionHistoryLimit is the number of old revisions that are kept.
	// +optional
	// +kubebuilder:default=0
	RevisionHistoryLimit int32 `json:"revisionHistoryLimit,omitempty"`

	// minReadySeconds is how long a worker must be Ready until it counts as available.
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// ordinalPadding is the number of digits of an ordinal in names, filled up with
	// zeros. 0: as many as it needs.
	// +optional
	// +kubebuilder:default=0
	OrdinalPadding int `json:"ordinalPadding,omitempty"`

	// oversubscribeNode lets several workers run on one Kubernetes node.
	// +optional
	// +kubebuilder:default=false
	OversubscribeNode bool `json:"oversubscribeNode,omitempty"`

	// pinToNode keeps each ordinal on the Kubernetes node where it ran first.
	// +optional
	// +kubebuilder:default=false
	PinToNode bool `json:"pinToNode,omitempty"`

	// securityProfile is what slurmd runs with; the securityContext of slurmd is laid
	// over it. The field is ours.
	// +optional
	// +kubebuilder:default=Privileged
	SecurityProfile v1beta1.SecurityProfile `json:"securityProfile,omitempty"`

	// cordonKubeNodes cordons the Kubernetes node of a worker that somebody other
	// than the operator drains in Slurm. The field is ours.
	// +optional
	// +kubebuilder:default=false
	CordonKubeNodes bool `json:"cordonKubeNodes,omitempty"`

	// pruneSlurmNodeRecords says which records of Slurm nodes without a pod are deleted.
	// +optional
	// +kubebuilder:default=Never
	PruneSlurmNodeRecords v1beta1.PrunePolicy `json:"pruneSlurmNodeRecords,omitempty"`

	// workloadDisruptionProtection keeps workers from being evicted, from their creation
	// until they are cordoned and Slurm shows them drained and without work.
	// +optional
	// +kubebuilder:default=true
	WorkloadDisruptionProtection *bool `json:"workloadDisruptionProtection,omitempty"`
}

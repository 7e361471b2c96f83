package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeSet is a group of identical workers: pods that run slurmd and join one Slurm cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=nodesets,scope=Namespaced,shortName=nodesets;nss;slurmd
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="DESIRED",type=integer,JSONPath=`.status.desired`,description="Desired number of workers"
// +kubebuilder:printcolumn:name="REPLICAS",type=integer,JSONPath=`.status.replicas`,description="Number of workers"
// +kubebuilder:printcolumn:name="UPDATED",type=integer,JSONPath=`.status.updatedReplicas`,description="Workers of the newest revision"
// +kubebuilder:printcolumn:name="READY",type=integer,JSONPath=`.status.readyReplicas`,description="Workers that are Ready"
// +kubebuilder:printcolumn:name="IDLE",type=integer,JSONPath=`.status.slurmIdle`,priority=1,description="Slurm nodes that are idle"
// +kubebuilder:printcolumn:name="ALLOCATED",type=integer,JSONPath=`.status.slurmAllocated`,priority=1,description="Slurm nodes that run jobs"
// +kubebuilder:printcolumn:name="DOWN",type=integer,JSONPath=`.status.slurmDown`,priority=1,description="Slurm nodes that are down"
// +kubebuilder:printcolumn:name="DRAIN",type=integer,JSONPath=`.status.slurmDrain`,priority=1,description="Slurm nodes that are drained or draining"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type NodeSet struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	Spec NodeSetSpec `json:"spec,omitzero"`

	// status is the last observed state. The operator writes it.
	// +optional
	Status NodeSetStatus `json:"status,omitzero"`
}

// NodeSetList is a list of NodeSets.
//
// +kubebuilder:object:root=true
type NodeSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeSet `json:"items"`
}

// NodeSetSpec is the desired state of a NodeSet.
//
// +kubebuilder:validation:XValidation:rule="has(self.controllerRef) != has(self.clusterRef)",message="exactly one of controllerRef and clusterRef must be given"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterRef) || !has(self.ssh) || !self.ssh.enabled || has(self.ssh.sssdConfRef)",message="ssh.sssdConfRef must be given with clusterRef: a Cluster has none"
// +kubebuilder:validation:XValidation:rule="has(self.controllerRef) == has(oldSelf.controllerRef) && (!has(self.controllerRef) || self.controllerRef.name == oldSelf.controllerRef.name)",message="controllerRef is immutable: workers stay in the cluster that they joined"
// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) == has(oldSelf.clusterRef) && (!has(self.clusterRef) || self.clusterRef.name == oldSelf.clusterRef.name)",message="clusterRef is immutable: workers stay in the cluster that they joined"
type NodeSetSpec struct {
	// controllerRef names the Controller that the workers join. Exactly one of controllerRef and
	// clusterRef must be set.
	// +optional
	ControllerRef *corev1.LocalObjectReference `json:"controllerRef,omitempty"`

	// clusterRef names the Cluster that the workers join. Exactly one of controllerRef and clusterRef
	// must be set. The field is a slurmtide extension.
	// +optional
	ClusterRef *corev1.LocalObjectReference `json:"clusterRef,omitempty"`

	// replicas is the number of workers in scaling mode StatefulSet.
	// +optional
	// +kubebuilder:default=1
	Replicas *int32 `json:"replicas,omitempty"`

	// maxReplicas is the largest number of workers that the NodeSet may have. Slurm accepts jobs for up
	// to that many nodes even while fewer exist. If a HorizontalPodAutoscaler scales the NodeSet, the
	// smaller of both maxReplicas applies. The field is a slurmtide extension.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`

	// scalingMode says whether the NodeSet runs spec.replicas workers with ordinals (StatefulSet) or one
	// worker on each matching Kubernetes node (DaemonSet).
	// +optional
	// +kubebuilder:default=StatefulSet
	ScalingMode ScalingMode `json:"scalingMode,omitempty"`

	// slurmd is a Container (core/v1) that is merged into the workers' slurmd container.
	// +optional
	Slurmd Raw `json:"slurmd,omitzero"`

	// logfile is a Container (core/v1) that is merged into the container that prints
	// slurmd's log file.
	// +optional
	Logfile Raw `json:"logfile,omitzero"`

	// ssh lets users log in to workers on which they have a job.
	// +optional
	SSH *NodeSetSSH `json:"ssh,omitempty"`

	// extraConf contains options of the NodeName line of slurm.conf ("Weight=10 Gres=gpu:1").
	// +optional
	ExtraConf string `json:"extraConf,omitempty"`

	// partition is a Slurm partition that contains the workers of this NodeSet.
	// +optional
	Partition *NodeSetPartition `json:"partition,omitempty"`

	// template is merged into the workers' pods.
	// +optional
	Template PodTemplate `json:"template,omitzero"`

	// volumeClaimTemplates are PersistentVolumeClaims (core/v1). The operator creates one of each for every
	// worker. Volume mounts refer to them by name. Immutable.
	// +optional
	// +nullable
	// +listType=atomic
	VolumeClaimTemplates []VolumeClaimTemplate `json:"volumeClaimTemplates,omitempty"`

	// persistentVolumeClaimRetentionPolicy says whether the workers' claims are retained or deleted.
	// +optional
	PersistentVolumeClaimRetentionPolicy *ClaimRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty"`

	// updateStrategy says how workers are updated to a new revision.
	// +optional
	UpdateStrategy NodeSetUpdateStrategy `json:"updateStrategy,omitzero"`

	// drainPolicy says how long the operator waits for the jobs of a worker before it deletes the worker.
	// The field is a slurmtide extension.
	// +optional
	DrainPolicy *DrainPolicy `json:"drainPolicy,omitempty"`

	// revisionHistoryLimit is the number of old revisions to keep.
	// +optional
	// +kubebuilder:default=0
	RevisionHistoryLimit int32 `json:"revisionHistoryLimit,omitempty"`

	// minReadySeconds is how long a worker must be Ready before it counts as available.
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// ordinalPadding is the number of digits of an ordinal in names. Shorter ordinals are padded with
	// zeros. 0 means no padding.
	// +optional
	// +kubebuilder:default=0
	OrdinalPadding int `json:"ordinalPadding,omitempty"`

	// oversubscribeNode lets several workers run on one Kubernetes node.
	// +optional
	// +kubebuilder:default=false
	OversubscribeNode bool `json:"oversubscribeNode,omitempty"`

	// pinToNode keeps each ordinal on the Kubernetes node on which it first ran.
	// +optional
	// +kubebuilder:default=false
	PinToNode bool `json:"pinToNode,omitempty"`

	// securityProfile says which privileges slurmd has. The securityContext in slurmd overrides it. The
	// field is a slurmtide extension.
	// +optional
	// +kubebuilder:default=Privileged
	SecurityProfile SecurityProfile `json:"securityProfile,omitempty"`

	// cordonKubeNodes cordons the Kubernetes node of a worker whose Slurm node was drained by anyone but
	// the operator. The field is a slurmtide extension.
	// +optional
	// +kubebuilder:default=false
	CordonKubeNodes bool `json:"cordonKubeNodes,omitempty"`

	// faultDrains determines what becomes of the drain that Slurm or a health check set on a worker, once the
	// worker's pod is gone. The field is a slurmtide extension.
	// +optional
	FaultDrains *FaultDrains `json:"faultDrains,omitempty"`

	// pruneSlurmNodeRecords decides what becomes of the Slurm node of a worker whose pod and Kubernetes node are gone.
	// NodeNotFound drains it, and deletes its record when it has no job and no job names it. Never keeps it.
	// +optional
	// +kubebuilder:default=Never
	PruneSlurmNodeRecords PrunePolicy `json:"pruneSlurmNodeRecords,omitempty"`

	// workloadDisruptionProtection protects workers from eviction, from their creation until they are
	// cordoned and Slurm shows them drained and without jobs.
	// +optional
	// +kubebuilder:default=true
	WorkloadDisruptionProtection *bool `json:"workloadDisruptionProtection,omitempty"`
}

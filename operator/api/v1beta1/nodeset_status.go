package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NodeSetStatus is the last observed state of a NodeSet. The API server rejects a status without
// nodeSetHash and selector, so the first patch of a status must contain them. Empty values are valid.
type NodeSetStatus struct {
	// observedGeneration is the generation of the spec to which the status belongs.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// selector is the label selector of the workers in string form, for the scale subresource.
	// +required
	Selector string `json:"selector"`

	// nodeSetHash is the name of the newest revision.
	// +required
	NodeSetHash string `json:"nodeSetHash"`

	// collisionCount is incremented when the name of a new revision is already taken.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// desired is the desired number of workers.
	// +optional
	Desired int32 `json:"desired,omitempty"`

	// replicas is the number of existing workers.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// updatedReplicas is the number of workers of the newest revision.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`

	// readyReplicas is the number of workers that are Ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// availableReplicas is the number of workers that have been Ready for minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`

	// unavailableReplicas is the number of desired workers that are not available.
	// +optional
	UnavailableReplicas int32 `json:"unavailableReplicas,omitempty"`

	// slurmIdle is the number of workers whose Slurm node is idle.
	// +optional
	SlurmIdle int32 `json:"slurmIdle,omitempty"`

	// slurmAllocated is the number of workers whose Slurm node runs jobs.
	// +optional
	SlurmAllocated int32 `json:"slurmAllocated,omitempty"`

	// slurmDown is the number of workers whose Slurm node is down.
	// +optional
	SlurmDown int32 `json:"slurmDown,omitempty"`

	// slurmDrain is the number of workers whose Slurm node is drained or draining.
	// +optional
	SlurmDrain int32 `json:"slurmDrain,omitempty"`

	// drainingReplicas is the number of workers that the operator drains in order to delete them. The field
	// is a slurmtide extension.
	// +optional
	DrainingReplicas int32 `json:"drainingReplicas,omitempty"`

	// ordinalToNode maps each pinned ordinal to its Kubernetes node.
	// +optional
	// +nullable
	OrdinalToNode map[string]string `json:"ordinalToNode,omitempty"`

	ReleaseStatus `json:",inline"`

	// conditions are Ready, Draining, Updated, Submittable and, where they apply, WakeUp, ReleaseAllowed and
	// FieldsIgnored.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NodeSetStatus is what was last seen of a NodeSet. The API server takes no status
// without nodeSetHash and selector (both may be empty text): a patch that is the
// first to write a status has to bring them.
type NodeSetStatus struct {
	// observedGeneration is the generation of the spec that the status is of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// selector is the label selector of the workers, as text, for the scale subresource.
	// +required
	Selector string `json:"selector"`

	// nodeSetHash is the name of the newest revision.
	// +required
	NodeSetHash string `json:"nodeSetHash"`

	// collisionCount is raised when the name of a new revision is taken.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// desired is the number of workers that there should be.
	// +optional
	Desired int32 `json:"desired,omitempty"`

	// replicas is the number of workers that there are.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// updatedReplicas is the number of workers of the newest revision.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`

	// readyReplicas is the number of workers that are Ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// availableReplicas is the number of workers that were Ready for minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`

	// unavailableReplicas is the number of workers that are wanted and not available.
	// +optional
	UnavailableReplicas int32 `json:"unavailableReplicas,omitempty"`

	// slurmIdle is the number of workers whose Slurm node is idle.
	// +optional
	SlurmIdle int32 `json:"slurmIdle,omitempty"`

	// slurmAllocated is the number of workers whose Slurm node has work.
	// +optional
	SlurmAllocated int32 `json:"slurmAllocated,omitempty"`

	// slurmDown is the number of workers whose Slurm node is down.
	// +optional
	SlurmDown int32 `json:"slurmDown,omitempty"`

	// slurmDrain is the number of workers whose Slurm node is drained or draining.
	// +optional
	SlurmDrain int32 `json:"slurmDrain,omitempty"`

	// drainingReplicas is the number of workers that the operator drains in order to
	// delete them. The field is ours.
	// +optional
	DrainingReplicas int32 `json:"drainingReplicas,omitempty"`

	// ordinalToNode tells the Kubernetes node to which each ordinal is pinned.
	// +optional
	// +nullable
	OrdinalToNode map[string]string `json:"ordinalToNode,omitempty"`

	// conditions are Ready and WakeUp.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The actions are subresources of nodes and jobs: create slurmnodes/drain drains a node.
const (
	// ActionDrain and ActionResume are subresources of Nodes.
	ActionDrain  = "drain"
	ActionResume = "resume"
	// ActionCancel, ActionHold and ActionRelease are subresources of Jobs.
	ActionCancel  = "cancel"
	ActionHold    = "hold"
	ActionRelease = "release"
)

// VerbActAll on slurmjobs is the permission to act on the jobs of other users. The resourceName is the name of the cluster's
// object.
const VerbActAll = "actall"

// SlurmAction is a request to change a Slurm node or a job. It is created as a subresource of its object and is not kept.
//
// +kubebuilder:object:root=true
type SlurmAction struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the metadata of the node or job. If uid is set, the action is refused unless the node or job has it.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the request.
	// +optional
	Spec SlurmActionSpec `json:"spec"`

	// status is the result.
	// +optional
	Status SlurmActionStatus `json:"status"`
}

// SlurmActionSpec is a request to change a Slurm node or a job.
type SlurmActionSpec struct {
	// reason is why a node is drained; required to drain. Slurm shows it with the name of the Kubernetes user.
	// +optional
	Reason string `json:"reason,omitempty"`
	// arrayTaskID is the task to cancel, hold or release; required for the record of tasks not yet split off.
	// +optional
	ArrayTaskID *int64 `json:"arrayTaskID,omitempty"`
}

// SlurmActionStatus is the result of an action.
type SlurmActionStatus struct {
	// message says what slurmctld was asked to do.
	// +optional
	Message string `json:"message,omitempty"`
}

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ScalingMode says what determines the number of workers.
//
// +kubebuilder:validation:Enum=DaemonSet;StatefulSet
type ScalingMode string

// The scaling modes.
const (
	// ScalingModeStatefulSet runs spec.replicas workers, named by ordinals.
	ScalingModeStatefulSet ScalingMode = "StatefulSet"
	// ScalingModeDaemonSet runs one worker on each Kubernetes node that the template's selectors match.
	ScalingModeDaemonSet ScalingMode = "DaemonSet"
)

// PrunePolicy says what becomes of the Slurm node of a worker whose pod and Kubernetes node are gone.
//
// +kubebuilder:validation:Enum=Never;NodeNotFound
type PrunePolicy string

// The prune policies.
const (
	// PruneNever keeps it. Records of workers that a NodeSet does not want any more are deleted nevertheless.
	PruneNever PrunePolicy = "Never"
	// PruneNodeNotFound drains it, and deletes its record when it has no job and no job names it.
	PruneNodeNotFound PrunePolicy = "NodeNotFound"
)

// NodeSetSSH says how users log in to workers. sshd runs beside slurmd, and pam_slurm_adopt lets in users with a job on
// the worker.
type NodeSetSSH struct {
	// enabled runs sshd in the workers.
	// +required
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// extraSshdConfig is appended to sshd_config. What it sets before its first Match, the operator does not set.
	// +optional
	ExtraSshdConfig string `json:"extraSshdConfig,omitempty"`

	// sssdConfRef selects the sssd.conf in a Secret, by which workers look up users and groups. It defaults to sssdConfRef of the
	// Controller. One of the two must be set if enabled is true.
	// +optional
	SSSDConfRef *corev1.SecretKeySelector `json:"sssdConfRef,omitempty"`
}

// HasSSH reports whether users can log in to workers.
func (s *NodeSetSpec) HasSSH() bool { return s.SSH != nil && s.SSH.Enabled }

// NodeSetPartition is a Slurm partition with the name and the workers of a NodeSet.
type NodeSetPartition struct {
	// enabled creates the partition.
	// +required
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// config is appended to the partition's line in slurm.conf ("MaxTime=1:00:00").
	// +optional
	// +kubebuilder:validation:Pattern=`^[^\n]+$`
	Config string `json:"config,omitempty"`
}

// VolumeClaimTemplate is a PersistentVolumeClaim (core/v1) that is created for each worker. Unknown
// fields are preserved.
//
// +kubebuilder:pruning:PreserveUnknownFields
type VolumeClaimTemplate struct {
	// metadata is the claim's metadata. Its name is the name of the volume.
	// +optional
	Metadata Raw `json:"metadata,omitzero"`

	// spec is the claim's spec.
	// +optional
	Spec Raw `json:"spec,omitzero"`

	// Extra contains the unknown fields, such as kind. They are preserved and have no effect.
	Extra map[string]Raw `json:"-"`
}

// MarshalJSON implements json.Marshaler.
func (t VolumeClaimTemplate) MarshalJSON() ([]byte, error) {
	type plain VolumeClaimTemplate
	return marshalOpen(plain(t), t.Extra)
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *VolumeClaimTemplate) UnmarshalJSON(text []byte) (err error) {
	type plain VolumeClaimTemplate
	t.Extra, err = unmarshalOpen(text, (*plain)(t), "metadata", "spec")
	return err
}

// ClaimRetentionPolicy says whether claims created from volumeClaimTemplates are retained or deleted.
type ClaimRetentionPolicy struct {
	// whenDeleted applies when the NodeSet is deleted.
	// +optional
	// +kubebuilder:default=Retain
	WhenDeleted ClaimRetention `json:"whenDeleted,omitempty"`

	// whenScaled applies when scale-in deletes a worker.
	// +optional
	// +kubebuilder:default=Retain
	WhenScaled ClaimRetention `json:"whenScaled,omitempty"`
}

// ClaimRetention says whether a claim without a worker is retained or deleted.
//
// +kubebuilder:validation:Enum=Retain;Delete
type ClaimRetention string

// The values of ClaimRetention.
const (
	// ClaimRetain keeps the claim.
	ClaimRetain ClaimRetention = "Retain"
	// ClaimDelete deletes the claim.
	ClaimDelete ClaimRetention = "Delete"
)

// NodeSetUpdateStrategy says how workers are updated to a new revision.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'ScheduledUpdate' || (has(self.scheduledUpdate.startTime) && has(self.scheduledUpdate.duration))",message="a ScheduledUpdate must have scheduledUpdate.startTime and scheduledUpdate.duration"
type NodeSetUpdateStrategy struct {
	// type is the strategy.
	// +optional
	// +kubebuilder:default=RollingUpdate
	Type UpdateStrategyType `json:"type,omitempty"`

	// paused keeps every worker at its revision while true. Scale-in and deletion continue. The field is
	// a slurmtide extension.
	// +optional
	// +kubebuilder:default=false
	Paused bool `json:"paused,omitempty"`

	// rollingUpdate applies to type RollingUpdate.
	// +optional
	RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"`

	// scheduledUpdate applies to type ScheduledUpdate.
	// +optional
	ScheduledUpdate *ScheduledUpdate `json:"scheduledUpdate,omitempty"`
}

// UpdateStrategyType names an update strategy.
//
// +kubebuilder:validation:Enum=RollingUpdate;OnDelete;ScheduledUpdate
type UpdateStrategyType string

// The update strategies.
const (
	// UpdateRolling drains and replaces workers, a few at a time.
	UpdateRolling UpdateStrategyType = "RollingUpdate"
	// UpdateOnDelete updates a worker when somebody deletes it.
	UpdateOnDelete UpdateStrategyType = "OnDelete"
	// UpdateScheduled replaces workers within a Slurm maintenance reservation.
	UpdateScheduled UpdateStrategyType = "ScheduledUpdate"
)

// RollingUpdate limits a rolling update.
type RollingUpdate struct {
	// maxUnavailable is the number or percentage of workers that may be unavailable at the same time.
	// +optional
	// +kubebuilder:default="25%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// partition is the lowest ordinal that is updated. Workers with lower ordinals keep their revision. If
	// unset, all workers are updated. The field is a slurmtide extension.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Partition *int32 `json:"partition,omitempty"`
}

// ScheduledUpdate says when workers are replaced.
type ScheduledUpdate struct {
	// startTime is the start of the reservation.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// duration is the length of the reservation ("30m").
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]*)?(ns|us|µs|ms|s|m|h))+$') && duration(self) > duration('0s')",message="duration must be a positive duration, such as 30m"
	// +kubebuilder:default="30m"
	Duration *metav1.Duration `json:"duration,omitempty"`

	// flags are additional flags of the reservation ("MAGNETIC").
	// +optional
	// +nullable
	// +listType=atomic
	Flags []string `json:"flags,omitempty"`
}

// DrainPolicy says how long the operator waits for the jobs of a worker before it deletes the worker, on
// scale-in, on update and on deletion of the NodeSet.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'Timeout' || has(self.timeout)",message="a drainPolicy of type Timeout must have a timeout"
type DrainPolicy struct {
	// type is the policy.
	// +optional
	// +kubebuilder:default=Wait
	Type DrainPolicyType `json:"type,omitempty"`

	// timeout is how long the operator waits for the jobs of a worker ("2h30m"), from when its Slurm node accepts
	// no new ones. Then they are requeued where they may be, and otherwise end. It applies to type Timeout.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]*)?(ns|us|µs|ms|s|m|h))+$') && duration(self) > duration('0s')",message="timeout must be a positive duration, such as 2h30m"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// FaultDrains determines what becomes of drains that Slurm or a health check set because of a fault of a
// worker, such as "Kill task failed". Drains of administrators always stay.
type FaultDrains struct {
	// policy is the policy.
	// +optional
	// +kubebuilder:default=Clear
	Policy FaultDrainsPolicy `json:"policy,omitempty"`

	// healthCheckReasons are reasons with which a HealthCheckProgram drains nodes as root, each with an
	// optional * at its end for any text. Reasons of Slurm itself, and those that begin with "NHC:", need no
	// entry. An entry must not match what administrators write: root or SlurmUser may be a person.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=3
	// +kubebuilder:validation:items:MaxLength=256
	HealthCheckReasons []string `json:"healthCheckReasons,omitempty"`
}

// FaultDrainsPolicy names a policy for the drains of faulty workers.
//
// +kubebuilder:validation:Enum=Clear;Keep
type FaultDrainsPolicy string

// The policies for drains of faulty workers.
const (
	// FaultDrainsClear ends the drain when the pod is gone, or when another pod takes the name.
	FaultDrainsClear FaultDrainsPolicy = "Clear"
	// FaultDrainsKeep keeps the drain until somebody resumes the Slurm node.
	FaultDrainsKeep FaultDrainsPolicy = "Keep"
)

// DrainPolicyType names a drain policy.
//
// +kubebuilder:validation:Enum=Wait;Timeout;Force
type DrainPolicyType string

// The drain policies.
const (
	// DrainWait never deletes a worker that has jobs.
	DrainWait DrainPolicyType = "Wait"
	// DrainTimeout waits for the worker's jobs until the timeout.
	DrainTimeout DrainPolicyType = "Timeout"
	// DrainForce drains and deletes without waiting. Running jobs are requeued where they may be, and otherwise end.
	DrainForce DrainPolicyType = "Force"
)

// SecurityProfile names what slurmd may do on its Kubernetes node.
//
// +kubebuilder:validation:Enum=Privileged;Unprivileged
type SecurityProfile string

// The security profiles.
const (
	// SecurityPrivileged runs slurmd privileged, so that it can set up cgroups and devices for jobs.
	SecurityPrivileged SecurityProfile = "Privileged"
	// SecurityUnprivileged runs slurmd without privileges. Jobs are not confined to the resources that
	// they requested.
	SecurityUnprivileged SecurityProfile = "Unprivileged"
)

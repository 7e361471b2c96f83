package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ScalingMode says what the number of workers follows.
//
// +kubebuilder:validation:Enum=DaemonSet;StatefulSet
type ScalingMode string

// The scaling modes.
const (
	// ScalingModeStatefulSet: spec.replicas workers, named by ordinals.
	ScalingModeStatefulSet ScalingMode = "StatefulSet"
	// ScalingModeDaemonSet: one worker on each Kubernetes node that the template's selectors match.
	ScalingModeDaemonSet ScalingMode = "DaemonSet"
)

// PrunePolicy says which records of Slurm nodes without a pod are deleted.
//
// +kubebuilder:validation:Enum=Never;NodeNotFound
type PrunePolicy string

// The policies of pruning.
const (
	// PruneNever keeps every record.
	PruneNever PrunePolicy = "Never"
	// PruneNodeNotFound deletes records whose Kubernetes node is gone.
	PruneNodeNotFound PrunePolicy = "NodeNotFound"
)

// NodeSetSSH says how users log in to workers.
type NodeSetSSH struct {
	// enabled runs sshd in the workers.
	// +required
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// extraSshdConfig is added to sshd_config.
	// +optional
	ExtraSshdConfig string `json:"extraSshdConfig,omitempty"`

	// sssdConfRef is the key of a Secret that holds sssd.conf.
	// +required
	SSSDConfRef corev1.SecretKeySelector `json:"sssdConfRef"`
}

// NodeSetPartition is a Slurm partition that has the name and the workers of a NodeSet.
type NodeSetPartition struct {
	// enabled makes the partition.
	// +required
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// config is added to the partition's line in slurm.conf ("MaxTime=1:00:00").
	// +optional
	// +kubebuilder:validation:Pattern=`^[^\n]+$`
	Config string `json:"config,omitempty"`
}

// VolumeClaimTemplate is a PersistentVolumeClaim (core/v1) to be made for each
// worker. Unknown fields are kept.
//
// +kubebuilder:pruning:PreserveUnknownFields
type VolumeClaimTemplate struct {
	// metadata is the claim's metadata; its name is the name of the volume.
	// +optional
	Metadata Raw `json:"metadata,omitzero"`

	// spec is the claim's spec.
	// +optional
	Spec Raw `json:"spec,omitzero"`

	// Extra is what else the user wrote, by field: kind, say. It is kept and means nothing.
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

// ClaimRetentionPolicy says what becomes of claims made from volumeClaimTemplates.
type ClaimRetentionPolicy struct {
	// whenDeleted says what becomes of them when the NodeSet is deleted.
	// +optional
	// +kubebuilder:default=Retain
	WhenDeleted ClaimRetention `json:"whenDeleted,omitempty"`

	// whenScaled says what becomes of the claims of a worker that scale-in deletes.
	// +optional
	// +kubebuilder:default=Retain
	WhenScaled ClaimRetention `json:"whenScaled,omitempty"`
}

// ClaimRetention says what becomes of a claim whose worker is gone.
//
// +kubebuilder:validation:Enum=Retain;Delete
type ClaimRetention string

// The fates of a claim.
const (
	// ClaimRetain keeps the claim.
	ClaimRetain ClaimRetention = "Retain"
	// ClaimDelete deletes the claim.
	ClaimDelete ClaimRetention = "Delete"
)

// NodeSetUpdateStrategy says how workers change to a new revision.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'ScheduledUpdate' || (has(self.scheduledUpdate.startTime) && has(self.scheduledUpdate.duration))",message="a ScheduledUpdate must have scheduledUpdate.startTime and scheduledUpdate.duration"
type NodeSetUpdateStrategy struct {
	// type is the strategy.
	// +optional
	// +kubebuilder:default=RollingUpdate
	Type UpdateStrategyType `json:"type,omitempty"`

	// paused keeps every worker at its revision until it is false again; scale-in and
	// deletion go on. The field is ours.
	// +optional
	// +kubebuilder:default=false
	Paused bool `json:"paused,omitempty"`

	// rollingUpdate is for type RollingUpdate.
	// +optional
	RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"`

	// scheduledUpdate is for type ScheduledUpdate.
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
	// UpdateOnDelete leaves workers until somebody deletes them.
	UpdateOnDelete UpdateStrategyType = "OnDelete"
	// UpdateScheduled replaces workers within a Slurm maintenance reservation.
	UpdateScheduled UpdateStrategyType = "ScheduledUpdate"
)

// RollingUpdate limits a rolling update.
type RollingUpdate struct {
	// maxUnavailable is the number, or the share, of workers that may be out of
	// service at a time.
	// +optional
	// +kubebuilder:default="25%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// partition is the lowest ordinal that is updated: workers with a lower one keep
	// their revision. Unset: all are updated. The field is ours.
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
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]*)?(ns|us|µs|ms|s|m|h))+$') && duration(self) > duration('0s')",message="duration must be a positive duration, as 30m"
	// +kubebuilder:default="30m"
	Duration *metav1.Duration `json:"duration,omitempty"`

	// flags are added to those of the reservation ("MAGNETIC").
	// +optional
	// +nullable
	// +listType=atomic
	Flags []string `json:"flags,omitempty"`
}

// DrainPolicy says how long the operator waits for a worker's work, on scale-in, on
// update and on deletion of the NodeSet.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'Timeout' || has(self.timeout)",message="a drainPolicy of type Timeout must have a timeout"
type DrainPolicy struct {
	// type is the policy.
	// +optional
	// +kubebuilder:default=Wait
	Type DrainPolicyType `json:"type,omitempty"`

	// timeout is how long a worker's work is waited for ("2h30m"), counted from when
	// its drain began. For type Timeout.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]*)?(ns|us|µs|ms|s|m|h))+$') && duration(self) > duration('0s')",message="timeout must be a positive duration, as 2h30m"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// DrainPolicyType names a policy of draining.
//
// +kubebuilder:validation:Enum=Wait;Timeout;Force
type DrainPolicyType string

// The policies of draining.
const (
	// DrainWait never deletes a worker that has work.
	DrainWait DrainPolicyType = "Wait"
	// DrainTimeout waits for the worker's work, at most for the timeout.
	DrainTimeout DrainPolicyType = "Timeout"
	// DrainForce drains and does not wait: running jobs are lost.
	DrainForce DrainPolicyType = "Force"
)

// SecurityProfile names what slurmd may do on its Kubernetes node.
//
// +kubebuilder:validation:Enum=Privileged;Unprivileged
type SecurityProfile string

// The security profiles.
const (
	// SecurityPrivileged runs slurmd privileged: it sets up cgroups and devices for jobs.
	SecurityPrivileged SecurityProfile = "Privileged"
	// SecurityUnprivileged runs slurmd with no privilege: jobs are not confined to
	// what they asked for.
	SecurityUnprivileged SecurityProfile = "Unprivileged"
)

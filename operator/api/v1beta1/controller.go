package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Controller is the slurmctld of a Slurm cluster. The operator runs it unless spec.external is true.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=controllers,scope=Namespaced,shortName=slurmctld
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether slurmctld is ready"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type Controller struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	Spec ControllerSpec `json:"spec,omitzero"`

	// status is the last observed state. The operator writes it.
	// +optional
	Status ControllerStatus `json:"status,omitzero"`
}

// ControllerList is a list of Controllers.
//
// +kubebuilder:object:root=true
type ControllerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Controller `json:"items"`
}

// ControllerSpec is the desired state of a Controller.
//
// +kubebuilder:validation:XValidation:rule="!self.external ? has(self.slurmKeyRef) : true",message="slurmKeyRef must be given unless external is true"
// +kubebuilder:validation:XValidation:rule="!self.external ? has(self.jwtKeyRef) || has(self.jwtHs256KeyRef) : true",message="jwtKeyRef or jwtHs256KeyRef must be given unless external is true"
// +kubebuilder:validation:XValidation:rule="self.external ? has(self.externalConfig) : true",message="externalConfig must be given where external is true"
// +kubebuilder:validation:XValidation:rule="has(self.ha) && self.ha.enabled ? has(self.persistence) && self.persistence.enabled && self.persistence.existingClaim.size() > 0 : true",message="ha needs persistence.enabled and persistence.existingClaim"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterName) || !has(oldSelf.clusterName) || self.clusterName.size() == 0 || oldSelf.clusterName.size() == 0 || self.clusterName == oldSelf.clusterName",message="clusterName is immutable"
// +kubebuilder:validation:XValidation:rule="has(self.slurmKeyRef) == has(oldSelf.slurmKeyRef) && (!has(self.slurmKeyRef) || self.slurmKeyRef.name == oldSelf.slurmKeyRef.name && self.slurmKeyRef.key == oldSelf.slurmKeyRef.key)",message="slurmKeyRef is immutable"
// +kubebuilder:validation:XValidation:rule="has(oldSelf.jwtKeyRef) || has(oldSelf.jwtHs256KeyRef) ? (has(self.jwtKeyRef) || has(self.jwtHs256KeyRef)) && (has(self.jwtKeyRef) ? self.jwtKeyRef.name + '/' + self.jwtKeyRef.key : self.jwtHs256KeyRef.name + '/' + self.jwtHs256KeyRef.key) == (has(oldSelf.jwtKeyRef) ? oldSelf.jwtKeyRef.name + '/' + oldSelf.jwtKeyRef.key : oldSelf.jwtHs256KeyRef.name + '/' + oldSelf.jwtHs256KeyRef.key) : !has(self.jwtKeyRef) && !has(self.jwtHs256KeyRef)",message="the key of jwtKeyRef or jwtHs256KeyRef is immutable"
type ControllerSpec struct {
	// clusterName is Slurm's ClusterName, at most 40 characters. Immutable. If unset, it is the namespace,
	// an underscore and the Controller's name.
	// +optional
	ClusterName string `json:"clusterName,omitempty"`

	// slurmKeyRef is the key of a Secret that contains slurm.key (auth/slurm). Immutable.
	// +optional
	SlurmKeyRef *corev1.SecretKeySelector `json:"slurmKeyRef,omitempty"`

	// jwtKeyRef is the key of a Secret that contains the key of auth/jwt. Immutable.
	// +optional
	JWTKeyRef *corev1.SecretKeySelector `json:"jwtKeyRef,omitempty"`

	// jwtHs256KeyRef is the older name of jwtKeyRef. jwtKeyRef takes precedence. Immutable.
	// +optional
	JWTHS256KeyRef *corev1.SecretKeySelector `json:"jwtHs256KeyRef,omitempty"`

	// jwksKeyRef is the key of a ConfigMap that contains a JSON Web Key Set.
	// +optional
	JWKSKeyRef *corev1.ConfigMapKeySelector `json:"jwksKeyRef,omitempty"`

	// sssdConfRef selects the sssd.conf in a Secret. With it, slurmctld and the slurmrestd of RestApis look up users and groups
	// in a directory such as LDAP. LoginSets and NodeSets with ssh use the same file unless they set their own sssdConfRef.
	// Without it, slurmctld and slurmrestd only know the users of their images. This field is a slurmtide extension.
	// +optional
	SSSDConfRef *corev1.SecretKeySelector `json:"sssdConfRef,omitempty"`

	// accountingRef names the Accounting to which slurmctld reports.
	// +optional
	AccountingRef *corev1.LocalObjectReference `json:"accountingRef,omitempty"`

	// external says that slurmctld runs outside of the operator's control.
	// +optional
	// +kubebuilder:default=false
	External bool `json:"external,omitempty"`

	// externalConfig says where an external slurmctld listens.
	// +optional
	ExternalConfig *ExternalConfig `json:"externalConfig,omitempty"`

	// address is the name or IP address at which slurmd and clients find slurmctld from inside and outside of
	// Kubernetes, such as that of a load balancer. Without it slurm.conf has the name of slurmctld's Service, which
	// resolves only inside.
	// +optional
	Address string `json:"address,omitempty"`

	// ha runs backup slurmctlds.
	// +optional
	HA *ControllerHA `json:"ha,omitempty"`

	// persistence configures the volume for slurmctld's state.
	// +optional
	Persistence *ControllerPersistence `json:"persistence,omitempty"`

	// slurmctld is a Container (core/v1) that is merged into the slurmctld container.
	// +optional
	Slurmctld Raw `json:"slurmctld,omitzero"`

	// reconfigure is a Container (core/v1) that is merged into the container that
	// reconfigures slurmctld.
	// +optional
	Reconfigure Raw `json:"reconfigure,omitzero"`

	// inplaceReconfigure has no effect: slurmctld always reads a changed configuration with scontrol reconfigure
	// or, where that is not enough, is restarted in its pod.
	// +optional
	// +kubebuilder:default=false
	InplaceReconfigure bool `json:"inplaceReconfigure,omitempty"`

	// logfile is a Container (core/v1) that is merged into the container that prints
	// slurmctld's log file.
	// +optional
	Logfile Raw `json:"logfile,omitzero"`

	// template is merged into slurmctld's pods.
	// +optional
	Template PodTemplate `json:"template,omitzero"`

	// service is merged into slurmctld's Service.
	// +optional
	Service ServiceSpec `json:"service,omitzero"`

	// extraConf is appended to slurm.conf.
	// +optional
	ExtraConf string `json:"extraConf,omitempty"`

	// configFileRefs name ConfigMaps. Each key becomes a file in the directory of slurm.conf.
	// +optional
	// +nullable
	// +listType=atomic
	ConfigFileRefs []corev1.LocalObjectReference `json:"configFileRefs,omitempty"`

	// prologScriptRefs name ConfigMaps with Prolog scripts.
	// +optional
	// +nullable
	// +listType=atomic
	PrologScriptRefs []corev1.LocalObjectReference `json:"prologScriptRefs,omitempty"`

	// epilogScriptRefs name ConfigMaps with Epilog scripts.
	// +optional
	// +nullable
	// +listType=atomic
	EpilogScriptRefs []corev1.LocalObjectReference `json:"epilogScriptRefs,omitempty"`

	// prologSlurmctldScriptRefs name ConfigMaps with PrologSlurmctld scripts.
	// +optional
	// +nullable
	// +listType=atomic
	PrologSlurmctldScriptRefs []corev1.LocalObjectReference `json:"prologSlurmctldScriptRefs,omitempty"`

	// epilogSlurmctldScriptRefs name ConfigMaps with EpilogSlurmctld scripts.
	// +optional
	// +nullable
	// +listType=atomic
	EpilogSlurmctldScriptRefs []corev1.LocalObjectReference `json:"epilogSlurmctldScriptRefs,omitempty"`

	// metrics says how slurmctld's own metrics are collected.
	// +optional
	Metrics Metrics `json:"metrics,omitzero"`
}

// ControllerHA configures backup slurmctlds.
type ControllerHA struct {
	// enabled runs the backups.
	// +required
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// backups is the number of backup slurmctlds.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	Backups int32 `json:"backups,omitempty"`
}

// ControllerPersistence describes the volume for slurmctld's state: an existing PersistentVolumeClaim,
// or one that is created from the inlined spec.
type ControllerPersistence struct {
	// enabled keeps the state on a volume. Without one, all jobs end whenever slurmctld's pod is replaced. Where
	// slurmctld has a state, it changes only with the annotation slinky.slurm.net/state-moved.
	// +required
	// +kubebuilder:default=true
	Enabled bool `json:"enabled"`

	// existingClaim names a PersistentVolumeClaim to use. Where slurmctld has a state, it changes only with the
	// annotation slinky.slurm.net/state-moved.
	// +optional
	ExistingClaim string `json:"existingClaim,omitempty"`

	corev1.PersistentVolumeClaimSpec `json:",inline"`
}

// ControllerStatus is the last observed state of a Controller.
type ControllerStatus struct {
	// conditions contain Ready and, if fields are ignored, FieldsIgnored.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	ReleaseStatus `json:",inline"`

	// gresTypes are the kinds of generic resources that slurmctld knows: those of GresTypes in the configuration that was last in force.
	// NodeSets with others wait for them. The field is missing while it is not known what is in force.
	// +optional
	// +listType=set
	GresTypes []string `json:"gresTypes,omitzero"`
}

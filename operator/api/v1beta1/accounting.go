package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Accounting is a Slurm database daemon, slurmdbd. The operator runs it unless spec.external is true.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=accountings,scope=Namespaced,shortName=slurmdbd
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether slurmdbd is ready"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type Accounting struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	Spec AccountingSpec `json:"spec,omitzero"`

	// status is the last observed state. The operator writes it.
	// +optional
	Status AccountingStatus `json:"status,omitzero"`
}

// AccountingList is a list of Accountings.
//
// +kubebuilder:object:root=true
type AccountingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Accounting `json:"items"`
}

// AccountingSpec is the desired state of an Accounting.
//
// +kubebuilder:validation:XValidation:rule="!self.external ? has(self.slurmKeyRef) : true",message="slurmKeyRef must be given unless external is true"
// +kubebuilder:validation:XValidation:rule="!self.external ? has(self.jwtKeyRef) || has(self.jwtHs256KeyRef) : true",message="jwtKeyRef or jwtHs256KeyRef must be given unless external is true"
// +kubebuilder:validation:XValidation:rule="self.external ? has(self.externalConfig) : true",message="externalConfig must be given where external is true"
// +kubebuilder:validation:XValidation:rule="self.external ? !has(self.accounts) : true",message="accounts must not be given where external is true: the operator does not run that slurmdbd"
// +kubebuilder:validation:XValidation:rule="has(self.slurmKeyRef) == has(oldSelf.slurmKeyRef) && (!has(self.slurmKeyRef) || self.slurmKeyRef.name == oldSelf.slurmKeyRef.name && self.slurmKeyRef.key == oldSelf.slurmKeyRef.key)",message="slurmKeyRef is immutable"
// +kubebuilder:validation:XValidation:rule="has(oldSelf.jwtKeyRef) || has(oldSelf.jwtHs256KeyRef) ? (has(self.jwtKeyRef) || has(self.jwtHs256KeyRef)) && (has(self.jwtKeyRef) ? self.jwtKeyRef.name + '/' + self.jwtKeyRef.key : self.jwtHs256KeyRef.name + '/' + self.jwtHs256KeyRef.key) == (has(oldSelf.jwtKeyRef) ? oldSelf.jwtKeyRef.name + '/' + oldSelf.jwtKeyRef.key : oldSelf.jwtHs256KeyRef.name + '/' + oldSelf.jwtHs256KeyRef.key) : !has(self.jwtKeyRef) && !has(self.jwtHs256KeyRef)",message="the key of jwtKeyRef or jwtHs256KeyRef is immutable"
type AccountingSpec struct {
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

	// external says that slurmdbd runs outside of the operator's control.
	// +optional
	// +kubebuilder:default=false
	External bool `json:"external,omitempty"`

	// externalConfig says where an external slurmdbd listens.
	// +optional
	ExternalConfig *ExternalConfig `json:"externalConfig,omitempty"`

	// address is the name or IP address at which slurmctld and clients find slurmdbd from inside and outside of
	// Kubernetes, such as that of a load balancer. Without it slurm.conf has the name of slurmdbd's Service, which
	// resolves only inside.
	// +optional
	Address string `json:"address,omitempty"`

	// slurmdbd is a Container (core/v1) that is merged into the slurmdbd container.
	// +optional
	Slurmdbd Raw `json:"slurmdbd,omitzero"`

	// storageConfig configures slurmdbd's database.
	// +optional
	StorageConfig *StorageConfig `json:"storageConfig,omitempty"`

	// template is merged into slurmdbd's pods.
	// +optional
	Template PodTemplate `json:"template,omitzero"`

	// service is merged into slurmdbd's Service.
	// +optional
	Service ServiceSpec `json:"service,omitzero"`

	// extraConf is appended to slurmdbd.conf.
	// +optional
	ExtraConf string `json:"extraConf,omitempty"`

	// accounts are the accounts, users and QOS that the database should have. The condition AccountsApplied says
	// whether it has them. It is a slurmtide extension.
	// +optional
	Accounts *AccountsSpec `json:"accounts,omitempty"`
}

// AccountsSpec says which accounts, users and QOS the database should have.
type AccountsSpec struct {
	// configMapRef names the ConfigMap with files in the format of "sacctmgr dump", one for each cluster, which may
	// have lines of QOS as well.
	// +required
	ConfigMapRef AccountsConfigMapRef `json:"configMapRef"`

	// mode is Apply or DryRun. DryRun only reports what would change.
	// +optional
	// +kubebuilder:validation:Enum=Apply;DryRun
	// +kubebuilder:default=Apply
	Mode AccountsMode `json:"mode,omitempty"`

	// prune removes accounts and users of the files' clusters that are not in the files, but for those with unfinished
	// jobs. A large removal needs the annotation that the condition AccountsApplied names. QOS and
	// clusters are never removed.
	// +optional
	Prune bool `json:"prune,omitempty"`
}

// AccountsConfigMapRef names files in a ConfigMap of the namespace.
type AccountsConfigMapRef struct {
	// name is that of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// key is that of the file. Without it all keys are files.
	// +optional
	Key string `json:"key,omitempty"`
}

// AccountsMode says what is done with accounts.
type AccountsMode string

const (
	// AccountsApply changes the database.
	AccountsApply AccountsMode = "Apply"
	// AccountsDryRun only reports what would change.
	AccountsDryRun AccountsMode = "DryRun"
)

// StorageConfig describes a MySQL or MariaDB database.
type StorageConfig struct {
	// host is the name or address of the database server.
	// +required
	Host string `json:"host"`

	// port is the port of the database server.
	// +optional
	// +kubebuilder:default=3306
	Port int `json:"port,omitempty"`

	// database is the name of the database.
	// +optional
	// +kubebuilder:default=slurm_acct_db
	Database string `json:"database,omitempty"`

	// username is the database's user.
	// +optional
	Username string `json:"username,omitempty"`

	// passwordKeyRef is the key of a Secret that contains the user's password.
	// +required
	PasswordKeyRef corev1.SecretKeySelector `json:"passwordKeyRef"`
}

// AccountingStatus is the last observed state of an Accounting.
type AccountingStatus struct {
	// conditions contain Ready and, if fields are ignored, FieldsIgnored.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	ReleaseStatus `json:",inline"`
}

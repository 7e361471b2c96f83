package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Accounting is a Slurm database daemon, slurmdbd, run by the operator or, with
// spec.external, elsewhere.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=accountings,scope=Namespaced,shortName=slurmdbd
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type Accounting struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	// +optional
	Spec AccountingSpec `json:"spec,omitzero"`

	// status is what was last seen; the operator writes it.
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

// AccountingSpec is what is wanted of an Accounting.
//
// +kubebuilder:validation:XValidation:rule="!self.external ? has(self.slurmKeyRef) : true",message="slurmKeyRef must be given unless external is true"
// +kubebuilder:validation:XValidation:rule="!self.external ? has(self.jwtKeyRef) || has(self.jwtHs256KeyRef) : true",message="jwtKeyRef or jwtHs256KeyRef must be given unless external is true"
// +kubebuilder:validation:XValidation:rule="self.external ? has(self.externalConfig) : true",message="externalConfig must be given where external is true"
type AccountingSpec struct {
	// slurmKeyRef is the key of a Secret that holds slurm.key (auth/slurm). Immutable.
	// +optional
	SlurmKeyRef *corev1.SecretKeySelector `json:"slurmKeyRef,omitempty"`

	// jwtKeyRef is the key of a Secret that holds the key of auth/jwt. Immutable.
	// +optional
	JWTKeyRef *corev1.SecretKeySelector `json:"jwtKeyRef,omitempty"`

	// jwtHs256KeyRef is the older name of jwtKeyRef; jwtKeyRef wins. Immutable.
	// +optional
	JWTHS256KeyRef *corev1.SecretKeySelector `json:"jwtHs256KeyRef,omitempty"`

	// jwksKeyRef is the key of a ConfigMap that holds a JSON Web Key Set.
	// +optional
	JWKSKeyRef *corev1.ConfigMapKeySelector `json:"jwksKeyRef,omitempty"`

	// external is true for a slurmdbd that runs elsewhere.
	// +optional
	// +kubebuilder:default=false
	External bool `json:"external,omitempty"`

	// externalConfig says where an external slurmdbd listens.
	// +optional
	ExternalConfig *ExternalConfig `json:"externalConfig,omitempty"`

	// slurmdbd is a Container (core/v1) that is laid over the slurmdbd container.
	// +optional
	Slurmdbd Raw `json:"slurmdbd,omitzero"`

	// storageConfig says where slurmdbd's own database is.
	// +optional
	StorageConfig *StorageConfig `json:"storageConfig,omitempty"`

	// template is laid over slurmdbd's pods.
	// +optional
	Template PodTemplate `json:"template,omitzero"`

	// service is laid over slurmdbd's Service.
	// +optional
	Service ServiceSpec `json:"service,omitzero"`

	// extraConf is added to slurmdbd.conf.
	// +optional
	ExtraConf string `json:"extraConf,omitempty"`
}

// StorageConfig is a database of MySQL or MariaDB.
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

	// passwordKeyRef is the key of a Secret that holds the user's password.
	// +required
	PasswordKeyRef corev1.SecretKeySelector `json:"passwordKeyRef"`
}

// AccountingStatus is what was last seen of an Accounting.
type AccountingStatus struct {
	// conditions are Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cluster is a Slurm cluster whose slurmrestd the operator does not run. The kind is a slurmtide extension.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=clusters,scope=Namespaced,shortName=slurmcluster
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether slurmrestd answers"
// +kubebuilder:printcolumn:name="VERSION",type=string,JSONPath=`.status.slurmVersion`,description="Slurm's version"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type Cluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says where the cluster is and how to access it.
	// +required
	Spec ClusterSpec `json:"spec"`

	// status is the last observed state. The operator writes it.
	// +optional
	Status ClusterStatus `json:"status,omitzero"`
}

// ClusterList is a list of Clusters.
//
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cluster `json:"items"`
}

// ClusterSpec says where a Slurm cluster is and how to access it.
type ClusterSpec struct {
	// server is the URL of slurmrestd ("https://slurm.example.com:6820"), without
	// the path of an API version and without credentials.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != ''",message="server must be an http or https URL with a host"
	// +kubebuilder:validation:XValidation:rule="!self.contains('@') && !self.contains('?') && !self.contains('#')",message="server must have no credentials, query or fragment"
	Server string `json:"server"`

	// token authenticates the requests.
	// +required
	Token ClusterToken `json:"token"`

	// caRef refers to the CA certificates that verify slurmrestd. If unset, the system's CAs do.
	// +optional
	CARef *CAReference `json:"caRef,omitempty"`

	// clientCertRef names a Secret of type kubernetes.io/tls with the client certificate for slurmrestd.
	// If unset, no client certificate is sent.
	// +optional
	ClientCertRef *SecretReference `json:"clientCertRef,omitempty"`

	// slurmctld says where workers find slurmctld. NodeSets need it to join the cluster. Without it the
	// operator only reads the cluster.
	// +optional
	Slurmctld *SlurmctldAddress `json:"slurmctld,omitempty"`

	// slurmKeyRef is the key of a Secret that contains the cluster's slurm.key. NodeSets need it to join
	// the cluster.
	// +optional
	SlurmKeyRef *corev1.SecretKeySelector `json:"slurmKeyRef,omitempty"`
}

// ClusterToken says how requests are authenticated.
type ClusterToken struct {
	// secretRef is the key of a Secret that contains a JSON Web Token. The operator notices when it
	// changes.
	// +required
	SecretRef SecretKeyReference `json:"secretRef"`
}

// SecretKeyReference names a key of a Secret.
type SecretKeyReference struct {
	// name is the Secret's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// key is the key within the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
}

// SecretReference names a Secret.
type SecretReference struct {
	// name is the Secret's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// CAReference names a key of a Secret or ConfigMap that contains certificates in PEM.
type CAReference struct {
	// kind is the kind of the object.
	// +optional
	// +kubebuilder:default=Secret
	Kind CAReferenceKind `json:"kind,omitempty"`

	// name is the object's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// key is the key within the object.
	// +optional
	// +kubebuilder:default="ca.crt"
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key,omitempty"`
}

// CAReferenceKind is the kind of object that contains the certificates.
//
// +kubebuilder:validation:Enum=Secret;ConfigMap
type CAReferenceKind string

// The kinds of object that can contain certificates.
const (
	// CAInSecret is a Secret, as cert-manager writes it.
	CAInSecret CAReferenceKind = "Secret"
	// CAInConfigMap is a ConfigMap, as trust bundles are distributed.
	CAInConfigMap CAReferenceKind = "ConfigMap"
)

// SlurmctldAddress says where slurmctld listens.
type SlurmctldAddress struct {
	// host is the name or address of slurmctld.
	// +required
	// +kubebuilder:validation:MinLength=1
	Host string `json:"host"`

	// port is slurmctld's port.
	// +optional
	// +kubebuilder:default=6817
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// ClusterStatus is the last observed state of a Cluster.
type ClusterStatus struct {
	// slurmVersion is Slurm's version ("26.05.1").
	// +optional
	SlurmVersion string `json:"slurmVersion,omitempty"`

	// apiVersion is the version of slurmrestd's API that the operator uses ("v0.0.45").
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// lastContact is when slurmrestd last returned the state of Slurm. It is absent if it never did.
	// +optional
	LastContact *metav1.Time `json:"lastContact,omitempty"`

	// conditions contain Ready and, if fields are ignored, FieldsIgnored.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

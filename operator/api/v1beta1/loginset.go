package v1beta1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LoginSet is a group of identical pods in which users log in and submit jobs to one Slurm cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=loginsets,scope=Namespaced,shortName=loginsets;lss;sackd
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="REPLICAS",type=integer,JSONPath=`.status.replicas`,description="Number of login pods"
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether users can log in"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type LoginSet struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	Spec LoginSetSpec `json:"spec,omitzero"`

	// status is the last observed state. The operator writes it.
	// +optional
	Status LoginSetStatus `json:"status,omitzero"`
}

// LoginSetList is a list of LoginSets.
//
// +kubebuilder:object:root=true
type LoginSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LoginSet `json:"items"`
}

// LoginSetSpec is the desired state of a LoginSet.
type LoginSetSpec struct {
	// controllerRef names the Controller to which jobs are submitted.
	// +required
	ControllerRef corev1.LocalObjectReference `json:"controllerRef"`

	// replicas is the number of login pods.
	// +optional
	// +kubebuilder:default=1
	Replicas *int32 `json:"replicas,omitempty"`

	// login is a Container (core/v1) that is merged into the login container.
	// +optional
	Login Raw `json:"login,omitzero"`

	// initconf is a Container (core/v1) that is merged into the container that installs
	// the configuration.
	// +optional
	Initconf Raw `json:"initconf,omitzero"`

	// template is merged into the login pods.
	// +optional
	Template PodTemplate `json:"template,omitzero"`

	// strategy says how new pods replace old ones, as in a Deployment.
	// +optional
	Strategy appsv1.DeploymentStrategy `json:"strategy,omitzero"`

	// rootSshAuthorizedKeys is the content of root's authorized_keys.
	// +optional
	RootSSHAuthorizedKeys string `json:"rootSshAuthorizedKeys,omitempty"`

	// extraSshdConfig is appended to sshd_config.
	// +optional
	ExtraSshdConfig string `json:"extraSshdConfig,omitempty"`

	// sssdConfRef selects the sssd.conf in a Secret, by which login pods look up users and groups. It defaults to sssdConfRef of
	// the Controller. One of the two must be set.
	// +optional
	SSSDConfRef *corev1.SecretKeySelector `json:"sssdConfRef,omitempty"`

	// service is merged into the Service of the login pods.
	// +optional
	Service ServiceSpec `json:"service,omitzero"`
}

// LoginSetStatus is the last observed state of a LoginSet. The API server rejects a status without
// selector. An empty selector is valid.
type LoginSetStatus struct {
	// selector is the label selector of the login pods in string form, for the scale subresource.
	// +required
	Selector string `json:"selector"`

	// replicas is the number of existing login pods.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// conditions contain Ready and, if fields are ignored, FieldsIgnored.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	ReleaseStatus `json:",inline"`
}

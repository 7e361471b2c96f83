package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RestApi is the slurmrestd of a Controller.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=restapis,scope=Namespaced,shortName=slurmrestd
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="REPLICAS",type=integer,JSONPath=`.status.replicas`,description="Number of pods of slurmrestd"
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether slurmrestd is ready"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type RestApi struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	Spec RestApiSpec `json:"spec,omitzero"`

	// status is the last observed state. The operator writes it.
	// +optional
	Status RestApiStatus `json:"status,omitzero"`
}

// RestApiList is a list of RestApis.
//
// +kubebuilder:object:root=true
type RestApiList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RestApi `json:"items"`
}

// RestApiSpec is the desired state of a RestApi.
type RestApiSpec struct {
	// controllerRef names the Controller that slurmrestd serves.
	// +required
	ControllerRef corev1.LocalObjectReference `json:"controllerRef"`

	// replicas is the number of pods.
	// +optional
	// +kubebuilder:default=1
	Replicas *int32 `json:"replicas,omitempty"`

	// slurmrestd is a Container (core/v1) that is merged into the slurmrestd container.
	// +optional
	Slurmrestd Raw `json:"slurmrestd,omitzero"`

	// template is merged into slurmrestd's pods.
	// +optional
	Template PodTemplate `json:"template,omitzero"`

	// service is merged into slurmrestd's Service.
	// +optional
	Service ServiceSpec `json:"service,omitzero"`

	// tls makes slurmrestd answer https only, at port 6821 unless service.port is another one. If unset, it
	// answers http. The field is a slurmtide extension.
	// +optional
	TLS *RestApiTLS `json:"tls,omitempty"`
}

// RestApiTLS says with which certificate slurmrestd answers.
type RestApiTLS struct {
	// secretName names a Secret of type kubernetes.io/tls with the certificate and its key, such as one of
	// cert-manager. The certificate must be for the name of slurmrestd's Service, "<name>-restapi.<namespace>.svc".
	// A changed certificate is in use within minutes, and no pod is replaced.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`

	// caRef refers to the CA certificates with which the operator and the metrics adapter verify slurmrestd. If
	// unset, they do so with the key ca.crt of the Secret or, if it has none, with the system's CAs.
	// +optional
	CARef *CAReference `json:"caRef,omitempty"`
}

// RestApiStatus is the last observed state of a RestApi.
type RestApiStatus struct {
	// selector is the label selector of slurmrestd's pods in string form, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// replicas is the number of existing pods of slurmrestd.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// url is where clients in Kubernetes find slurmrestd ("https://slurm-restapi.slurm.svc:6821").
	// +optional
	URL string `json:"url,omitempty"`

	// certificateExpiry is when slurmrestd's certificate ends. It is absent without TLS.
	// +optional
	CertificateExpiry *metav1.Time `json:"certificateExpiry,omitempty"`

	// conditions contain Ready and, if fields are ignored, FieldsIgnored.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	ReleaseStatus `json:",inline"`
}

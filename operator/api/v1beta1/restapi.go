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
}

// RestApiStatus is the last observed state of a RestApi.
type RestApiStatus struct {
	// conditions contain Ready and, if fields are ignored, FieldsIgnored.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	ReleaseStatus `json:",inline"`
}

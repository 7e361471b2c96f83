package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Cluster is a Slurm cluster whose slurmrestd the operator does not run. The kind is a slurmtide extension.
//
// +kubebuilder:object:root=true
// +kubebuilder:unservedversion
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
	Spec v1beta1.ClusterSpec `json:"spec"`

	// status is the last observed state. The operator writes it.
	// +optional
	Status v1beta1.ClusterStatus `json:"status,omitzero"`
}

// ClusterList is a list of Clusters.
//
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cluster `json:"items"`
}

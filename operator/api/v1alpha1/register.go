package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// SchemeGroupVersion is the group and version of this package. It is never modified.
var SchemeGroupVersion = schema.GroupVersion{Group: v1beta1.GroupName, Version: "v1alpha1"}

// AddToScheme registers the kinds of this package. It may be called more than once with the same scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &NodeSet{}, &NodeSetList{}, &Cluster{}, &ClusterList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}

// Package v1beta1 contains the types of the API group slinky.slurm.net, version v1beta1, and the names
// (labels, annotations, finalizers, conditions) that belong to them.
//
// The group, the kinds and their fields are those of Slinky's slurm-operator: a manifest that is valid
// there is valid here and means the same. The comments mark slurmtide extensions: the kind Cluster and
// single fields of NodeSets. All of them are optional.
//
// Every kind is namespaced, has a status subresource, and refers only to objects of its own namespace.
// The schema contains the defaults, so objects read from an API server have them and objects created in
// Go do not. A field whose default is not Go's zero value is a pointer, so that an explicit zero
// survives.
//
// Fields of Kubernetes' own large types (pod, container, service and claim specs) are open in the schema
// and of type Raw in Go: fields that the API server and this package do not know are preserved, and a
// malformed value is an error of its reader.
//
// +kubebuilder:object:generate=true
// +groupName=slinky.slurm.net
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of every kind in this package.
const GroupName = "slinky.slurm.net"

// The names of the kinds in manifests and references.
const (
	KindNodeSet    = "NodeSet"
	KindController = "Controller"
	KindCluster    = "Cluster"
	KindRestApi    = "RestApi"
	KindAccounting = "Accounting"
	KindLoginSet   = "LoginSet"
	KindToken      = "Token"
)

// SchemeGroupVersion is the group and version of this package. It is never modified.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1beta1"}

// Resource returns the group resource of a plural name, for API errors.
func Resource(plural string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(plural).GroupResource()
}

// AddToScheme registers the kinds of this package. It may be called more than once with the same scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&NodeSet{}, &NodeSetList{},
		&Controller{}, &ControllerList{},
		&Cluster{}, &ClusterList{},
		&RestApi{}, &RestApiList{},
		&Accounting{}, &AccountingList{},
		&LoginSet{}, &LoginSetList{},
		&Token{}, &TokenList{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}

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

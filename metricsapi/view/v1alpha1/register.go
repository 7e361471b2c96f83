package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of the kinds in this package.
const GroupName = "view.slinky.slurm.net"

// The kinds.
const (
	KindJob       = "SlurmJob"
	KindNode      = "SlurmNode"
	KindPartition = "SlurmPartition"
	KindAction    = "SlurmAction"
)

// The resources, as in API paths and the rules of roles.
const (
	Jobs       = "slurmjobs"
	Nodes      = "slurmnodes"
	Partitions = "slurmpartitions"
)

// SchemeGroupVersion is the group and version of this package. It must not be modified.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

// Resource returns the group resource of a plural name, for errors.
func Resource(plural string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(plural).GroupResource()
}

// AddToScheme registers the kinds of this package in a scheme. It may be called more than once
// with the same scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&SlurmJob{}, &SlurmJobList{},
		&SlurmNode{}, &SlurmNodeList{},
		&SlurmPartition{}, &SlurmPartitionList{},
		&SlurmAction{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}

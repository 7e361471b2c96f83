package metricsapi

import "k8s.io/apimachinery/pkg/runtime/schema"

// slinkyGroup is the API group of the custom resources.
const slinkyGroup = "slinky.slurm.net"

// Resource is a kind of object that has metrics.
type Resource struct {
	schema.GroupResource
	// APIVersion and Kind describe its objects in responses.
	APIVersion, Kind string
	// Namespaced is false only for namespaces.
	Namespaced bool
}

// NodeSets returns the resource of NodeSets, the pools of Slurm nodes that HPAs scale.
func NodeSets() Resource { return slinkyResource("nodesets", "NodeSet") }

// Controllers returns the resource of Slurm clusters that run in this Kubernetes cluster.
func Controllers() Resource { return slinkyResource("controllers", "Controller") }

// Clusters returns the resource of Slurm clusters that run elsewhere.
func Clusters() Resource { return slinkyResource("clusters", "Cluster") }

// Namespaces returns the resource of namespaces. A namespace has the metrics of all Slurm
// clusters in it.
func Namespaces() Resource {
	return Resource{schema.GroupResource{Resource: "namespaces"}, "v1", "Namespace", false}
}

func slinkyResource(plural, kind string) Resource {
	return Resource{schema.GroupResource{Group: slinkyGroup, Resource: plural}, slinkyGroup + "/v1beta1", kind, true}
}

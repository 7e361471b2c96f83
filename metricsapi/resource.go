package metricsapi

import "k8s.io/apimachinery/pkg/runtime/schema"

// group is the API group of the custom resources.
const group = "slinky.slurm.net"

// Resource is a kind of object that metrics are about.
type Resource struct {
	schema.GroupResource
	// APIVersion and Kind are what descriptions of its objects carry.
	APIVersion, Kind string
	// Namespaced is false for namespaces alone.
	Namespaced bool
}

// NodeSets are the pools of Slurm nodes that HPAs scale.
func NodeSets() Resource { return slinky("nodesets", "NodeSet") }

// Controllers are the Slurm clusters that run in this Kubernetes.
func Controllers() Resource { return slinky("controllers", "Controller") }

// Clusters are the Slurm clusters that run elsewhere.
func Clusters() Resource { return slinky("clusters", "Cluster") }

// Namespaces stand for all Slurm clusters in them.
func Namespaces() Resource {
	return Resource{schema.GroupResource{Resource: "namespaces"}, "v1", "Namespace", false}
}

func slinky(plural, kind string) Resource {
	return Resource{schema.GroupResource{Group: group, Resource: plural}, group + "/v1beta1", kind, true}
}

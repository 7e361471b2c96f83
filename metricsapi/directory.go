package metricsapi

import "k8s.io/apimachinery/pkg/labels"

// Directory tells which objects there are. Its methods do not block, and what
// they return is not written to.
type Directory interface {
	// Object returns the object of the resource, or false when there is none. The
	// namespace is empty for namespaces.
	Object(of Resource, namespace, name string) (Object, bool)
	// Objects returns those whose labels match, sorted by name. The namespace is
	// empty for namespaces.
	Objects(of Resource, namespace string, matching labels.Selector) []Object
}

// Object is a Kubernetes object that metrics are about.
type Object struct {
	Namespace, Name string
	// Clusters are the Slurm clusters that it is about: one of a NodeSet, Controller
	// or Cluster, any number of a namespace.
	Clusters []Cluster
	// Pool names the pool that the cluster's readings have for a NodeSet; empty for
	// other objects.
	Pool string
	// Offer is how many workers a NodeSet may have; nil for other objects.
	Offer *Offer
}

// Cluster is a Slurm cluster.
type Cluster interface {
	// Name is the name of the object that it was found by: the value of the label
	// "cluster" beside the label "namespace".
	Name() string
	// String tells people which cluster it is, such as "team-a/gpu".
	String() string
	// Reading returns what is known of the cluster now, or why nothing is. It does
	// not block. How old that is, is for the caller to judge.
	Reading() (*Reading, error)
}

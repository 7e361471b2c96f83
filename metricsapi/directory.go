package metricsapi

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slurmtide/slurmtide/operator/scaling"
)

// Directory lists the objects that have metrics. Its methods do not block, and callers must not modify the results.
type Directory interface {
	// Object returns an object of the resource, or false if it does not exist. The namespace is
	// empty for namespaces.
	Object(of Resource, namespace, name string) (Object, bool)
	// Objects returns the objects whose labels match, sorted by name. The namespace is empty
	// for namespaces.
	Objects(of Resource, namespace string, matching labels.Selector) []Object
}

// Object is a Kubernetes object that has metrics.
type Object struct {
	Namespace, Name string
	// Clusters are the Slurm clusters of the object: one for a NodeSet, Controller or Cluster,
	// any number for a namespace.
	Clusters []Cluster
	// Pool is the name of a NodeSet's pool in the cluster's readings; empty for other objects.
	Pool string
	// ScaleBounds are a NodeSet's replicas and their bounds; nil for other objects.
	ScaleBounds *scaling.Bounds
}

// Cluster is a Slurm cluster.
type Cluster interface {
	// Name returns the name of the cluster's object, which is the value of the label "cluster"
	// in external metrics.
	Name() string
	// String returns the namespace and name of the cluster's object, such as "team-a/gpu".
	String() string
	// Reading returns the newest reading of the cluster, or the reason why the reading is missing. It does not block. The
	// caller checks the reading's age.
	Reading() (*Reading, error)
}

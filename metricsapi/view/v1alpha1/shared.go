package v1alpha1

// ClusterReference identifies the object, in the same namespace, that represents a Slurm cluster.
type ClusterReference struct {
	// kind is Controller or Cluster; empty if the adapter was given the URL of a slurmrestd that
	// no object represents.
	// +optional
	Kind string `json:"kind,omitempty"`
	// name is the object's name.
	Name string `json:"name"`
}

package v1alpha1

// ClusterReference names the object, in the same namespace, that stands for a Slurm
// cluster.
type ClusterReference struct {
	// kind is Controller or Cluster; empty for a slurmrestd that was given to the
	// adapter by URL and that no object stands for.
	// +optional
	Kind string `json:"kind,omitempty"`
	// name is the object's name.
	Name string `json:"name"`
}

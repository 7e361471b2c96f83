package refs

import (
	"cmp"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// ClusterKey names the object that represents a Slurm cluster.
type ClusterKey struct {
	// Kind is Controller or Cluster.
	Kind            string
	Namespace, Name string
}

// String returns the namespace and name, such as "team-a/gpu".
func (k ClusterKey) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// ClusterKeyOf returns the cluster that a NodeSet joins. It returns false if the NodeSet names no cluster.
func ClusterKeyOf(n *v1beta1.NodeSet) (ClusterKey, bool) {
	switch {
	case n.Spec.ControllerRef != nil && n.Spec.ControllerRef.Name != "":
		return ClusterKey{v1beta1.KindController, n.Namespace, n.Spec.ControllerRef.Name}, true
	case n.Spec.ClusterRef != nil && n.Spec.ClusterRef.Name != "":
		return ClusterKey{v1beta1.KindCluster, n.Namespace, n.Spec.ClusterRef.Name}, true
	}
	return ClusterKey{}, false
}

// Compare orders keys by namespace, name and kind.
func (k ClusterKey) Compare(other ClusterKey) int {
	return cmp.Or(strings.Compare(k.Namespace, other.Namespace), strings.Compare(k.Name, other.Name),
		strings.Compare(k.Kind, other.Kind))
}

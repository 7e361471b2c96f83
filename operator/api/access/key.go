package access

import (
	"cmp"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// ClusterKey names the object that stands for a Slurm cluster.
type Key struct {
	// Kind is Controller or Cluster.
	Kind            string
	Namespace, Name string
}

// String returns the namespace and name, such as "team-a/gpu".
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// ClusterKeyOf names the cluster that a NodeSet joins. It returns false if the NodeSet names none.
func KeyOf(n *v1beta1.NodeSet) (Key, bool) {
	switch {
	case n.Spec.ControllerRef != nil && n.Spec.ControllerRef.Name != "":
		return Key{v1beta1.KindController, n.Namespace, n.Spec.ControllerRef.Name}, true
	case n.Spec.ClusterRef != nil && n.Spec.ClusterRef.Name != "":
		return Key{v1beta1.KindCluster, n.Namespace, n.Spec.ClusterRef.Name}, true
	}
	return Key{}, false
}

// Compare orders keys by namespace, name and kind.
func (k Key) Compare(other Key) int {
	return cmp.Or(strings.Compare(k.Namespace, other.Namespace), strings.Compare(k.Name, other.Name),
		strings.Compare(k.Kind, other.Kind))
}

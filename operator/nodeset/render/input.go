package render

import (
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Input is all that the objects of a NodeSet are made from.
type Input struct {
	// NodeSet is not changed.
	NodeSet *v1beta1.NodeSet
	// NamespaceUID is the UID of the NodeSet's namespace.
	NamespaceUID types.UID
	// Cluster is the name of the Controller or Cluster that the workers join.
	Cluster string
	// Endpoint is where slurmd finds slurmctld.
	Endpoint Endpoint
	// SlurmKey is the key of a Secret that holds slurm.key.
	SlurmKey corev1.SecretKeySelector
	// Image is the image of the slurmd container where the NodeSet names none.
	Image string
	// ClusterDomain is Kubernetes' DNS domain; empty is "cluster.local".
	ClusterDomain string
	// Hashes are annotations by which workers are replaced when what they are given
	// changes (v1beta1.AnnotationSlurmKeyHash and the like).
	Hashes map[string]string
}

// Endpoint is the address of a daemon.
type Endpoint struct {
	Host string `json:"host"`
	Port int32  `json:"port"`
}

// String returns "host:port", an IPv6 address in brackets.
func (e Endpoint) String() string { return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))) }

// Identity is what tells a worker from the others of its NodeSet.
type Identity struct {
	// Ordinal is the worker's number in scaling mode StatefulSet, else nil.
	Ordinal *int
	// KubeNode is the name of the Kubernetes node that the worker must run on: in
	// scaling mode DaemonSet always, else where the worker is pinned. Empty: any.
	KubeNode string
	// Facts are those of KubeNode; zero while they are not known.
	Facts KubeNodeFacts
	// Revision is the Hash of the worker's Revision.
	Revision string
}

// KubeNodeFacts is what a Kubernetes node's annotations say of its workers.
type KubeNodeFacts struct {
	// Hostname is the Slurm node's name in scaling mode DaemonSet; empty: the
	// Kubernetes node's short name.
	Hostname string
	// Topology is Slurm's topology; empty: not known.
	Topology string
	// Features is a list separated by commas, without v1beta1.FeaturePrefix.
	Features string
}

// FactsOf reads the annotations of a Kubernetes node.
func FactsOf(annotations map[string]string) KubeNodeFacts {
	return KubeNodeFacts{
		Hostname: annotations[v1beta1.AnnotationHostnameOverride],
		Topology: annotations[v1beta1.AnnotationTopology],
		Features: annotations[v1beta1.AnnotationFeatures],
	}
}

// perKubeNode reports whether the NodeSet's scaling mode is DaemonSet.
func (in Input) perKubeNode() bool {
	return in.NodeSet.Spec.ScalingMode == v1beta1.ScalingModeDaemonSet
}

func (in Input) scalingMode() v1beta1.ScalingMode {
	if in.perKubeNode() {
		return v1beta1.ScalingModeDaemonSet
	}
	return v1beta1.ScalingModeStatefulSet
}

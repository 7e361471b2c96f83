package render

import (
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Input is everything that the objects of a NodeSet are built from.
type Input struct {
	// NodeSet is not modified.
	NodeSet *v1beta1.NodeSet
	// NamespaceUID is the UID of the NodeSet's namespace.
	NamespaceUID types.UID
	// Cluster is the name of the Controller or Cluster that the workers join.
	Cluster string
	// Endpoint is where slurmd finds slurmctld.
	Endpoint refs.Address
	// Slurmctlds has the address of each slurmctld if several exist. It is empty for a single one.
	Slurmctlds []refs.Address
	// SlurmKey is the key of a Secret that contains slurm.key.
	SlurmKey corev1.SecretKeySelector
	// AgentImage is the image of slurm-agent, which gives slurmd its keys. If it is empty, workers have no agent, and changed keys
	// replace them.
	AgentImage string
	// Image is the image of the slurmd container if the NodeSet sets no image.
	Image string
	// ClusterDomain is Kubernetes' DNS domain; empty is "cluster.local".
	ClusterDomain string
	// Hashes are annotations that replace the workers when the data given to them changes (such as
	// v1beta1.AnnotationSlurmKeyHash).
	Hashes map[string]string
}

// Identity distinguishes a worker from the others of its NodeSet.
type Identity struct {
	// Ordinal is the worker's number in scaling mode StatefulSet, else nil.
	Ordinal *int
	// KubeNode is the name of the Kubernetes node that the worker must run on: always set in
	// scaling mode DaemonSet, otherwise for pinned workers only. Empty means any node.
	KubeNode string
	// AvoidKubeNodes are the names of Kubernetes nodes on which a worker with their network must not run, if it may run on
	// any.
	AvoidKubeNodes []string
	// Facts are the facts of KubeNode; zero while unknown.
	Facts KubeNodeFacts
	// Revision is the Hash of the worker's Revision.
	Revision string
}

// ID returns the input for the names of the worker.
func (id Identity) ID() names.WorkerID {
	return names.WorkerID{Ordinal: id.Ordinal, KubeNode: id.KubeNode, Hostname: id.Facts.Hostname}
}

// KubeNodeFacts are the settings for workers in the annotations of a Kubernetes node.
type KubeNodeFacts struct {
	// Hostname is the name of the Slurm node in scaling mode DaemonSet. If it is empty, the
	// Kubernetes node's short name is used.
	Hostname string
	// Topology is Slurm's topology, empty if it is not known.
	Topology string
	// Features is a comma-separated list, without v1beta1.FeaturePrefix.
	Features string
}

// FactsOf reads the annotations of a Kubernetes node. It leaves out topology and features that IgnoredFacts reports.
func FactsOf(annotations map[string]string) KubeNodeFacts {
	out := KubeNodeFacts{Hostname: annotations[v1beta1.AnnotationHostnameOverride]}
	if topology := strings.TrimSpace(annotations[v1beta1.AnnotationTopology]); isOneWord(topology) {
		out.Topology = topology
	}
	out.Features = strings.Join(slices.DeleteFunc(slurmconf.SplitList(annotations[v1beta1.AnnotationFeatures]),
		func(f string) bool { return !isOneWord(f) }), ",")
	return out
}

// IgnoredFacts returns the annotations of a Kubernetes node that are at least partly ignored, because they would be more than one
// option of slurmd's --conf.
func IgnoredFacts(annotations map[string]string) []string {
	var out []string
	if !isOneWord(strings.TrimSpace(annotations[v1beta1.AnnotationTopology])) {
		out = append(out, v1beta1.AnnotationTopology)
	}
	for _, f := range slurmconf.SplitList(annotations[v1beta1.AnnotationFeatures]) {
		if !isOneWord(f) {
			return append(out, v1beta1.AnnotationFeatures)
		}
	}
	return out
}

// isOneWord reports whether a text stays within the value where it is written.
func isOneWord(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`"'=`, r)
	})
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

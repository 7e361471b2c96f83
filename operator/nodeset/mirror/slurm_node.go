package mirror

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// SlurmNodeUpdate returns the changes to a worker's Slurm node: its comment, and the features and the
// topology from the annotations of its Kubernetes node, where they differ. It reports whether anything
// differs. node and kubeNode may be nil.
func SlurmNodeUpdate(node *slurm.Node, kubeNode *corev1.Node, comment string) (slurmclient.NodeUpdate, bool) {
	var out slurmclient.NodeUpdate
	if node == nil {
		return out, false
	}
	if node.Comment != comment {
		out.Comment = &comment
	}
	if kubeNode != nil {
		facts := render.FactsOf(kubeNode.Annotations)
		if want := mergeFeatures(node.Features, facts.Features); !slices.Equal(want, node.Features) {
			out.Features = want
		}
		if facts.Topology != "" && facts.Topology != node.Topology {
			out.Topology = &facts.Topology
		}
	}
	return out, out.Comment != nil || out.Features != nil || out.Topology != nil
}

// mergeFeatures replaces the features that a Slurm node has from its Kubernetes node by the features in the
// annotation, a comma-separated list.
func mergeFeatures(have []string, annotation string) []string {
	out := slices.DeleteFunc(slices.Clone(have),
		func(f string) bool { return strings.HasPrefix(f, v1beta1.FeaturePrefix) })
	for f := range strings.SplitSeq(annotation, ",") {
		if f = strings.TrimSpace(f); f != "" && !slices.Contains(out, v1beta1.FeaturePrefix+f) {
			out = append(out, v1beta1.FeaturePrefix+f)
		}
	}
	slices.Sort(out[len(out)-countPrefixed(out):])
	return out
}

func countPrefixed(list []string) int {
	n := 0
	for _, f := range list {
		if strings.HasPrefix(f, v1beta1.FeaturePrefix) {
			n++
		}
	}
	return n
}

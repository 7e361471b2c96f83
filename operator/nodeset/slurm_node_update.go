package nodeset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// updateSlurmNode writes the comment, the features and the topology of a worker's Slurm node where
// they differ, and expects them until a reading shows them. It never changes the state.
func (r *Reconciler) updateSlurmNode(ctx context.Context, s *observation, w *plan.Worker,
	update slurmclient.NodeUpdate) error {
	asked := update
	err := s.slurmCluster.UpdateNode(ctx, w.SlurmName, update)
	if update.Topology != nil && slurmclient.CodeOf(err) == slurmclient.CodeUnsupported {
		update.Topology = nil // the rest is supported
		err = s.slurmCluster.UpdateNode(ctx, w.SlurmName, update)
	}
	if err != nil {
		return fmt.Errorf("updating the slurm node of worker %s: %w", w.Pod, err)
	}
	r.expectations.expectUpdate(s.expectations, w.SlurmName, asked, r.now())
	return nil
}

// slurmNodeUpdateFor returns the update that updateSlurmNode makes, and whether it is needed.
func slurmNodeUpdateFor(s *observation, w *plan.Worker) (slurmclient.NodeUpdate, bool) {
	var out slurmclient.NodeUpdate
	node, pod := s.slurmNodes[w.SlurmName], s.pod(w.Pod)
	if node == nil || pod == nil {
		return out, false
	}
	if want := render.Comment(s.nodeSet, s.namespaceUID, pod); node.Comment != want {
		out.Comment = &want
	}
	if kubeNode := s.kubeNodes[w.KubeNode]; kubeNode != nil {
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

// mergeFeatures replaces the features of a Slurm node that come from its Kubernetes node by those
// of the annotation, a comma-separated list.
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

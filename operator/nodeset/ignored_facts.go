package nodeset

import "github.com/slurmtide/slurmtide/operator/nodeset/render"

// ignoredFacts returns the annotations that are ignored, by Kubernetes node. It names the nodes with workers, and those to which workers
// are pinned.
func (s *observation) ignoredFacts() map[string][]string {
	out := map[string][]string{}
	for i := range s.workers {
		w := &s.workers[i]
		for _, name := range []string{w.KubeNode, w.Slot.KubeNode, w.PinnedTo} {
			node := s.kubeNodes[name]
			if node == nil || !w.DeletedAt.IsZero() {
				continue
			}
			if ignored := render.IgnoredFacts(node.Annotations); len(ignored) > 0 {
				out[name] = ignored
			}
		}
	}
	return out
}

package nodeset

import "github.com/slurmtide/slurmtide/operator/nodeset/render"

// ignoredFacts returns the ignored annotations by Kubernetes node. It covers nodes with workers, and nodes where workers are pinned.
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

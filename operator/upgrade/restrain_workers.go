package upgrade

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Workers are what runs of a NodeSet, which has no workload.
type Workers struct {
	// Applied is the image that the newest workers were given, empty if there were none.
	Applied string
	// HasReady says that a worker is ready, and IsComplete that all workers have Applied.
	HasReady, IsComplete bool
}

// RestrainWorkers decides which image the workers of a NodeSet get, of which the wanted one is in a template. A nil
// decision changes nothing.
func (g Guard) RestrainWorkers(ctx context.Context, n *v1beta1.NodeSet, template *corev1.PodTemplateSpec,
	running Workers) (*Decision, error) {
	s := subjectOf(n)
	rendered, ok := workload{template: template}.withContainer(s.container)
	if !ok {
		return nil, nil //nolint:nilnil // a nil decision changes nothing
	}
	live := workload{hasReady: running.HasReady, isComplete: running.IsComplete}
	if running.Applied != "" {
		live.container = &corev1.Container{Image: running.Applied}
	}
	return g.decide(ctx, s, rendered, live)
}

package agentpods

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/releases"
)

// StateRelease returns the release that has written the state of slurmctld, as the agents of the pods that labels select
// read it: the newest one if they differ, and the zero value if no agent knows it.
func (r Reader) StateRelease(ctx context.Context, namespace string, selector map[string]string) (releases.Release, error) {
	var out releases.Release
	pods := &corev1.PodList{}
	if err := r.Uncached.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels(selector)); err != nil {
		return out, fmt.Errorf("listing the pods of agents: %w", err)
	}
	for i := range pods.Items {
		if pods.Items[i].Status.PodIP == "" {
			continue
		}
		status, err := r.ReadAgent(ctx, pods.Items[i].Status.PodIP)
		if err != nil {
			continue // it does not know
		}
		if found, err := releases.Parse(status.StateRelease); err == nil && out.Compare(found) < 0 {
			out = found
		}
	}
	return out, nil
}

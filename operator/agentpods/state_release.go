package agentpods

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/releases"
)

// StateRelease returns the release that wrote the state of a daemon, as the agents of its pods report it: the newest one if
// they differ, and the zero value if no agent knows it. Like Observe, it asks only the pods of the owner's StatefulSet.
func (r Reader) StateRelease(ctx context.Context, d Daemon) (releases.Release, error) {
	var out releases.Release
	set := &appsv1.StatefulSet{}
	found, err := r.Find(ctx, client.ObjectKey{Namespace: d.Namespace, Name: d.Set}, set)
	if err != nil || !found || !metav1.IsControlledBy(set, d.Owner) {
		return out, err
	}
	pods, err := r.listPods(ctx, set, d.Pods)
	if err != nil {
		return out, err
	}
	for _, agent := range AskEach(ctx, pods, r.readAgent) {
		if agent.Err != nil {
			continue // it does not know
		}
		if found, err := releases.Parse(agent.Status.StateRelease); err == nil && out.Compare(found) < 0 {
			out = found
		}
	}
	return out, nil
}

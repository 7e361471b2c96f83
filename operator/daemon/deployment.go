package daemon

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/kube"
)

// FindDeployment reads the Deployment of a daemon from the cache. It returns nil if it is missing, or in a namespace where the operator
// may not run daemons.
func FindDeployment(ctx context.Context, w kube.Writer, key client.ObjectKey) (*appsv1.Deployment, error) {
	out := &appsv1.Deployment{}
	if found, err := w.FindOwned(ctx, key, out); !found {
		return nil, err
	}
	return out, nil
}

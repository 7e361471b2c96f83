package observe

import (
	"context"

	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
)

// Jobs lists the jobs that the view shows the user.
func (a *API) Jobs(ctx context.Context, s Scope) ([]view.SlurmJob, error) {
	return listAll[view.SlurmJob](ctx, a, view.SchemeGroupVersion.WithResource(view.Jobs), s)
}

// Nodes lists the Slurm nodes that the view shows the user.
func (a *API) Nodes(ctx context.Context, s Scope) ([]view.SlurmNode, error) {
	return listAll[view.SlurmNode](ctx, a, view.SchemeGroupVersion.WithResource(view.Nodes), s)
}

// Partitions lists the partitions that the view shows the user.
func (a *API) Partitions(ctx context.Context, s Scope) ([]view.SlurmPartition, error) {
	return listAll[view.SlurmPartition](ctx, a, view.SchemeGroupVersion.WithResource(view.Partitions), s)
}

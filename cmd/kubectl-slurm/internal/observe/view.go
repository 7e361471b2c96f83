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

// AdapterVersion returns the version of slurm-metrics-adapter, which is the version of its OpenAPI document.
func (a *API) AdapterVersion(ctx context.Context) (string, error) {
	var document struct {
		Info struct {
			Version string `json:"version"`
		} `json:"info"`
	}
	err := a.get(ctx, []string{"openapi", "v3", "apis", view.GroupName, view.SchemeGroupVersion.Version}, nil, &document)
	return document.Info.Version, err
}

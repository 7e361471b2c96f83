package main

import (
	"context"
	"fmt"

	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/metricsapi/clusters"
	"github.com/slurmtide/slurmtide/metricsapi/view"
	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// actor carries out the actions of users, and logs each of them with the user.
type actor struct {
	registry  *clusters.Registry
	directory directory
	log       lines.Logger
}

// act implements view.ActFunc.
func (a *actor) act(ctx context.Context, action view.Action) error {
	err := a.ask(ctx, action)
	what := []any{"user", action.User, "action", action.Verb, "cluster", action.Cluster.String(), "node", action.Node,
		"job", action.JobID, "reason", action.Reason}
	if err != nil {
		a.log.Warn("an action of a user failed", append(what, "err", err)...)
		return err
	}
	a.log.Info("carried out an action of a user", what...)
	return nil
}

// ask sends the action to slurmctld. It first reads the node or the job again, since the snapshot is some seconds old. It keeps a drain
// that another user has set meanwhile, and leaves a different job with the same ID alone.
func (a *actor) ask(ctx context.Context, action view.Action) error {
	client, err := a.client(action.Cluster)
	if err != nil {
		return err
	}
	if action.Node != "" {
		n, err := client.Node(ctx, action.Node)
		if err != nil {
			return err
		}
		if err := action.Recheck(n); err != nil {
			return err
		}
	}
	if action.Job != nil {
		jobs, err := client.Job(ctx, action.Job.ID)
		if err != nil && !slurmclient.IsNotFound(err) {
			return err
		}
		if err := action.RecheckJob(jobs); err != nil {
			return err
		}
	}
	switch action.Verb {
	case v1alpha1.ActionDrain:
		return client.Drain(ctx, action.Node, action.Reason)
	case v1alpha1.ActionResume:
		return client.Resume(ctx, action.Node)
	case v1alpha1.ActionCancel:
		return client.CancelJob(ctx, action.JobID)
	case v1alpha1.ActionHold, v1alpha1.ActionRelease:
		return client.UpdateJob(ctx, action.JobID, slurmclient.JobUpdate{Hold: new(action.Verb == v1alpha1.ActionHold)})
	}
	return fmt.Errorf("unknown action %q", action.Verb)
}

// client returns the client of a cluster.
func (a *actor) client(of view.ClusterRef) (*slurmclient.Client, error) {
	list, err := a.registry.List()
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if a.directory.source(s).Ref != of {
			continue
		}
		if client := s.Client(); client != nil {
			return client, nil
		}
	}
	return nil, fmt.Errorf("the adapter has no connection to the Slurm cluster %s", of)
}

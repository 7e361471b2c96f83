package main

import (
	"context"
	"sync"

	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/cmd/internal/polls"
	"github.com/slurmtide/slurmtide/exporter"
	"github.com/slurmtide/slurmtide/metricsapi/clusters"
	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// registryConfig returns how to read clusters. Each connected cluster is added to the exposition.
func (o *options) registryConfig(k kubeClients, expo *exposition, log lines.Logger) clusters.Config {
	cache := o.slurm.polling.CacheConfig()
	cache.NewJobsInterval, cache.Resources = o.slurm.lookInterval, o.view.withViewResources(expo.resources)
	return clusters.Config{
		Access: access.Config{
			Secrets: access.NewSecretReader(k.client), User: o.slurm.user, Lifetime: o.slurm.polling.Lifetime,
			APIVersion: o.slurm.polling.APIVersion, Timeout: o.slurm.polling.Timeout,
		},
		Cache: cache,
		Pools: o.pools, Fixed: o.slurm.fixedCluster(), Connect: o.slurm.connect, Observers: expo.observers,
		OnPanic: func(key refs.ClusterKey, err error) { expo.recordPanic(key.String(), "demand", err) },
		Attach: func(key refs.ClusterKey) clusters.Attachment {
			requests := exporter.NewClientMetrics()
			return clusters.Attachment{
				Observer: requests,
				Run: func(ctx context.Context, to clusters.Connected) {
					log := log.With("cluster", key.String())
					log.Info("polling slurmrestd")
					defer log.Info("polling ends")
					var wg sync.WaitGroup
					defer wg.Wait()
					wg.Go(func() { polls.Watch(ctx, to.Cache, log) })
					expo.showCluster(ctx, key, to, requests)
				},
			}
		},
	}
}

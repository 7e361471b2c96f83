package main

import (
	"context"
	"sync"

	"github.com/slurmtide/slurmtide/cmd/internal/polls"
	"github.com/slurmtide/slurmtide/exporter"
	"github.com/slurmtide/slurmtide/metricsapi/clusters"
	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// registryConfig returns how to read clusters. Each connected cluster is added to the exposition.
func (o *options) registryConfig(k kube, expo *exposition, log logger) clusters.Config {
	return clusters.Config{
		Access: access.Config{
			Kube: access.FromClientset(k.client), User: o.slurm.user, Lifetime: o.slurm.lifetime,
			APIVersion: o.slurm.apiVersion, Timeout: o.slurm.timeout,
		},
		Cache: slurmclient.CacheConfig{
			Period: o.slurm.period, LookInterval: o.slurm.look, Slow: o.slurm.slow,
			JobsReader: slurmclient.JobsReader(o.slurm.jobsReader),
			Resources:  o.view.reads(expo.resources),
		},
		Pools: o.pools, Fixed: o.slurm.fixed(), Connect: o.slurm.connect, Readings: expo.reactions,
		Failed: func(key access.Key, err error) { expo.panicked(key.String(), "demand", err) },
		Attach: func(key access.Key) clusters.Attachment {
			requests := exporter.NewRequests()
			return clusters.Attachment{
				Observer: requests,
				Run: func(ctx context.Context, to clusters.Connected) {
					log := log.With("cluster", key.String())
					log.Info("polling slurmrestd")
					defer log.Info("polling ends")
					var wg sync.WaitGroup
					defer wg.Wait()
					wg.Go(func() { polls.Watch(ctx, to.Cache, log) })
					expo.show(ctx, key, to, requests)
				},
			}
		},
	}
}

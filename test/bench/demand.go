package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

const (
	poolCount   = 200
	demandRuns  = 11
	pollTimeout = 5 * time.Minute
)

// benchDemand measures how long it takes to compute the demand of a full-size queue for many pools.
func benchDemand(ctx context.Context) ([]figure, error) {
	server, err := startServer(ctx, totalJobs, "still")
	if err != nil {
		return nil, err
	}
	defer server.stop()
	snapshot, err := readSnapshot(ctx, server.url)
	if err != nil {
		return nil, err
	}
	asked := assignNodesToPools(snapshot)
	var took []float64
	var result demand.Demand
	for range demandRuns {
		begin := time.Now()
		result = demand.Compute(time.Now(), snapshot, asked...)
		took = append(took, time.Since(begin).Seconds()*1e3)
	}
	if !result.Known || len(result.Pools) != poolCount {
		return nil, fmt.Errorf("demand was computed for %d pools, not %d", len(result.Pools), poolCount)
	}
	var required uint64
	for _, p := range result.Pools {
		required += p.Required
	}
	if required == 0 {
		return nil, fmt.Errorf("no node is required")
	}
	figures := []figure{
		{"demand_jobs", float64(len(snapshot.Jobs.Value)), "records", ""},
		{"demand_nodes", float64(len(snapshot.Nodes.Value)), "nodes", ""},
		{"demand_pools", poolCount, "pools", ""}, {"demand_required", float64(required), "nodes", ""},
		{"demand_compute_p50", median(took), "ms", "under 100"}, {"demand_compute_max", slices.Max(took), "ms", ""},
	}
	for _, of := range unlikeQueues {
		took, err := timeUnlikeQueue(snapshot, of.pools, of.excludes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", of.name, err)
		}
		figures = append(figures, figure{of.name, took, "s", of.aim})
	}
	return figures, nil
}

// unlikeQueues are queues in which no two jobs are alike, of one partition with many pools.
var unlikeQueues = []struct {
	name     string
	pools    int
	excludes bool
	aim      string
}{
	{"demand_unlike_200_pools_p50", 200, false, "0.5 or less"},
	{"demand_unlike_1000_pools_p50", 1000, false, "2 or less"},
	{"demand_unlike_200_pools_excludes_p50", 200, true, "0.5 or less"},
	{"demand_unlike_1000_pools_excludes_p50", 1000, true, "2 or less"},
}

// unlikeRuns is how often the demand of an unlike queue is computed.
const unlikeRuns = 5

// timeUnlikeQueue returns the median time in seconds that Compute takes for the snapshot's pending jobs. Each job requests a different
// amount of memory in one partition. With excludes, it also excludes 51 workers.
func timeUnlikeQueue(s *slurmclient.Snapshot, poolCount int, excludes bool) (float64, error) {
	var jobs []*slurm.Job
	part := s.Partitions.Value[0].Name
	for i, j := range s.Jobs.Value {
		unlike := *j
		unlike.Partition, unlike.MemoryPerNode, unlike.MemoryPerCPU = part, slurm.Num(0), slurm.Num(uint64(1000+i))
		if excludes {
			unlike.EditDetails(func(d *slurm.JobDetails) {
				d.ExcludedNodes = fmt.Sprintf("pool-%04d-[%d-%d]", i%poolCount, i%50, 50+i%50)
			})
		}
		jobs = append(jobs, &unlike)
	}
	of := *s
	of.Jobs.Value = jobs
	var pools []demand.Pool
	for i := range poolCount {
		feature := fmt.Sprintf("pool-%04d", i)
		pools = append(pools, demand.Pool{Name: "hpc/" + feature, Feature: feature, WorkerPrefix: feature + "-", Max: 100,
			Partitions: []string{part}, Shape: &demand.Shape{CPUs: 64, MemoryMiB: 256_000, GRES: "gpu:h100:4"}})
	}
	var took []float64
	for range unlikeRuns {
		begin := time.Now()
		d := demand.Compute(time.Now(), &of, pools...)
		took = append(took, time.Since(begin).Seconds())
		var required uint64
		for _, p := range d.Pools {
			required += p.Required
		}
		if required == 0 {
			return 0, fmt.Errorf("no node is required")
		}
	}
	return median(took), nil
}

// readSnapshot polls nodes, jobs and partitions once.
func readSnapshot(ctx context.Context, url string) (*slurmclient.Snapshot, error) {
	client, err := slurmclient.New(slurmclient.Config{URL: url, Token: fixedToken("t"), Timeout: pollTimeout})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	cache := slurmclient.NewCache(client, slurmclient.CacheConfig{JobsReader: slurmclient.ReadList,
		Resources: []slurmclient.Resource{slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions,
			slurmclient.Stats}})
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { cache.Run(ctx); close(done) }()
	defer func() { cancel(); <-done }()
	if err := cache.Refresh(ctx, slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions,
		slurmclient.Stats); err != nil {
		return nil, err
	}
	return cache.Snapshot(), nil
}

// assignNodesToPools gives each node to one of the pools, by its first feature, and returns the pools.
func assignNodesToPools(s *slurmclient.Snapshot) []demand.Pool {
	nodes := make([]*slurm.Node, len(s.Nodes.Value))
	for i, n := range s.Nodes.Value {
		dealt := *n
		feature := fmt.Sprintf("pool%03d", i%poolCount)
		dealt.Features = append([]string{feature}, n.Features...)
		dealt.ActiveFeatures = append([]string{feature}, n.ActiveFeatures...)
		nodes[i] = &dealt
	}
	s.Nodes.Value = nodes
	out := make([]demand.Pool, poolCount)
	for i := range out {
		out[i] = demand.Pool{Name: fmt.Sprintf("hpc/pool%03d", i), Feature: fmt.Sprintf("pool%03d", i), Max: 100}
	}
	return out
}

package slurmtest_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

func TestCacheReadsANewJobBetweenPolls(t *testing.T) {
	c := newLongQueue(t, 3)
	k := slurmclient.NewCache(newClient(t, c, "v0.0.44"), slurmclient.CacheConfig{Period: time.Hour,
		NewJobsInterval: 10 * time.Millisecond, Resources: []slurmclient.Resource{slurmclient.Jobs}})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { k.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	must(t, k.Refresh(ctx, slurmclient.Jobs))
	awaitDiagReads(t, c)
	id := submitJob(t, c, func(s *slurmtest.JobSpec) { s.Hold = true })
	seen, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	for s := k.Snapshot(); s.Job(id) == nil; {
		next, err := k.Next(seen, s.Sequence)
		must(t, err)
		s = next
	}
}

// TestNodesAreReadBeforeANewJob: an earlier job may have got a node since the last reading.
func TestNodesAreReadBeforeANewJob(t *testing.T) {
	c := newLongQueue(t, 3)
	k := slurmclient.NewCache(newClient(t, c, "v0.0.44"), slurmclient.CacheConfig{Period: time.Hour,
		NewJobsInterval: 10 * time.Millisecond, Resources: []slurmclient.Resource{slurmclient.Jobs, slurmclient.Nodes}})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { k.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	must(t, k.Refresh(ctx, slurmclient.Jobs, slurmclient.Nodes))
	awaitDiagReads(t, c)
	time.Sleep(500 * time.Millisecond) // nodes that were read a moment ago are not read again at once (pacing)
	before := k.Snapshot().Nodes.ReadAt
	id := submitJob(t, c, func(s *slurmtest.JobSpec) { s.Hold = true })
	seen, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	s := k.Snapshot()
	for s.Job(id) == nil {
		next, err := k.Next(seen, s.Sequence)
		must(t, err)
		s = next
	}
	if !s.Nodes.ReadAt.After(before) {
		t.Errorf("the nodes are of %v, before the job", s.Nodes.ReadAt)
	}
}

// awaitDiagReads waits until the cache has read diag twice since the call.
func awaitDiagReads(t *testing.T, c *slurmtest.Cluster) {
	t.Helper()
	looks := func() (n int) {
		for request, count := range c.RequestCounts() {
			if strings.HasSuffix(strings.TrimSuffix(request, "/"), "/diag") {
				n += count
			}
		}
		return n
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for before := looks(); looks() < before+2; {
		select {
		case <-ctx.Done():
			t.Fatalf("the cache does not look for new jobs: %v", c.RequestCounts())
		case <-time.After(time.Millisecond):
		}
	}
}

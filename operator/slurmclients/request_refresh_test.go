package slurmclients

import (
	"context"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// TestRequestRefreshShowsADrainBeforeThePeriodEnds polls once an hour. The drain is proven when
// jobs were listed after it was seen.
func TestRequestRefreshShowsADrainBeforeThePeriodEnds(t *testing.T) {
	_, url := newSimulatedCluster(t, slurmtest.Release2605)
	c := New(Config{Access: access.Config{Secrets: fakeSecrets{}}, Cache: slurmclient.CacheConfig{Period: time.Hour}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	c.Set(red, endpointAt(url))
	waitUntil(t, "it is read", isComplete(c, red))
	s := c.For(red)
	if err := s.Drain(ctx, "n1", "slurm-operator: test"); err != nil {
		t.Fatal(err)
	}
	s.RequestRefresh()
	waitUntil(t, "the drain is proven", func() bool {
		r := s.Reading()
		since := r.DrainedSince["n1"]
		return !since.IsZero() && !r.Snapshot.Jobs.ReadAt.Before(since)
	})
	asked := s.refreshRequestedAt.Load()
	if s.RequestRefresh(); s.refreshRequestedAt.Load() != asked {
		t.Error("it asked again at once")
	}
}

package slurmtest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// TestAnotherClusterBehindTheURL: the new cluster answers "unchanged" to the times of the former one, whose nodes and jobs would seem
// fresh.
func TestAnotherClusterBehindTheURL(t *testing.T) {
	for _, reader := range []slurmclient.JobsReader{slurmclient.ReadList, slurmclient.ReadDelta} {
		t.Run(string(reader), func(t *testing.T) {
			newCluster := func(name, nodes string) http.Handler {
				c := slurmtest.New(slurmtest.Config{Now: testClock, ClusterName: name, Release: slurmtest.Release2605,
					Nodes:      []slurmtest.NodeConf{{Names: nodes, CPUs: 32, MemoryMiB: 4000}},
					Partitions: []slurmtest.PartitionConf{{Name: name, Default: true}}})
				for range 500 { // more than a poll reads again without a reason
					if _, err := c.Submit(slurmtest.JobSpec{JobRequest: slurm.JobRequest{Name: name, Tasks: 1}, User: "alice",
						RunFor: time.Hour}); err != nil {
						t.Fatal(err)
					}
				}
				c.Step(time.Minute) // they run
				return c.Handler()
			}
			clusters := []http.Handler{newCluster("blue", "b[1-40]"), newCluster("green", "g[1-40]")}
			var serving atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				clusters[serving.Load()].ServeHTTP(w, r)
			}))
			t.Cleanup(srv.Close)
			t.Setenv("SLURM_JWT", "token")
			client, err := slurmclient.New(slurmclient.Config{URL: srv.URL, Token: slurmclient.TokenFromEnv("SLURM_JWT")})
			if err != nil {
				t.Fatal(err)
			}
			cache := slurmclient.NewCache(client, slurmclient.CacheConfig{Period: time.Hour, JobsReader: reader,
				Resources: []slurmclient.Resource{slurmclient.Pings, slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions}})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			ended := make(chan struct{})
			go func() { cache.Run(ctx); close(ended) }()
			defer func() { cancel(); <-ended }()
			for range 2 {
				if err := cache.Refresh(ctx); err != nil {
					t.Fatal(err)
				}
			}
			serving.Store(1)
			if err := cache.Refresh(ctx, slurmclient.Pings); err != nil {
				t.Fatal(err)
			}
			for s := cache.Snapshot(); ; {
				blue := slices.IndexFunc(s.Jobs.Value, func(j *slurm.Job) bool { return j.Name != "green" })
				if s.Nodes.Value[0].Name == "g1" && s.Partitions.Value[0].Name == "green" && blue < 0 {
					break
				}
				next, err := cache.Next(ctx, s.Sequence)
				if err != nil {
					t.Fatalf("the cache still has node %s, partition %s and job %d of %s", s.Nodes.Value[0].Name, s.Partitions.Value[0].Name,
						s.Jobs.Value[max(0, blue)].ID, s.Jobs.Value[max(0, blue)].Name)
				}
				s = next
			}
		})
	}
}

package slurmtest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// jobRecords are the requests for records of jobs, of which slurmctld sends a user's own with PrivateData=jobs.
var jobRecords = regexp.MustCompile(`/jobs/$|/job/`)

// TestHiddenJobsAreUnknown: jobs of others are not zero jobs.
func TestHiddenJobsAreUnknown(t *testing.T) {
	forEachVersion(t, func(t *testing.T, release, version string) {
		newCluster := func(users ...string) *slurmtest.Cluster {
			c := slurmtest.New(slurmtest.Config{Now: testClock, Release: release,
				Nodes:      []slurmtest.NodeConf{{Names: "n[1-4]", CPUs: 4, MemoryMiB: 4000}},
				Partitions: []slurmtest.PartitionConf{{Name: "all", Default: true}}})
			for _, user := range users {
				if _, err := c.Submit(slurmtest.JobSpec{JobRequest: slurm.JobRequest{Name: user, Tasks: 1}, User: user,
					RunFor: time.Hour}); err != nil {
					t.Fatal(err)
				}
			}
			return c
		}
		for name, tc := range map[string]struct {
			visible, all []string
			want         string
		}{
			"all are visible":        {[]string{"alice", "bob"}, []string{"alice", "bob"}, ""},
			"there are none":         {nil, nil, ""},
			"only those of the user": {[]string{"alice"}, []string{"alice", "bob"}, "job 2 has a state and no record"},
			"none, but others have":  {nil, []string{"bob"}, "job 1 has a state and no record"},
		} {
			for _, reader := range []slurmclient.JobsReader{slurmclient.ReadList, slurmclient.ReadDelta} {
				visible, all := newCluster(tc.visible...).Handler(), newCluster(tc.all...).Handler()
				var isSilent atomic.Bool // whether only records of jobs are answered
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if isSilent.Load() && !jobRecords.MatchString(r.URL.Path) {
						http.Error(w, "no answer", http.StatusBadGateway)
						return
					}
					if jobRecords.MatchString(r.URL.Path) {
						visible.ServeHTTP(w, r)
						return
					}
					all.ServeHTTP(w, r)
				}))
				t.Setenv("SLURM_JWT", "token")
				client, err := slurmclient.New(slurmclient.Config{URL: srv.URL, Version: version,
					Token: slurmclient.TokenFromEnv("SLURM_JWT")})
				if err != nil {
					t.Fatal(err)
				}
				cache := slurmclient.NewCache(client, slurmclient.CacheConfig{Period: time.Hour, JobsReader: reader,
					Resources: []slurmclient.Resource{slurmclient.Jobs}})
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { cache.Run(ctx) })
				err = cache.Refresh(ctx, slurmclient.Jobs)
				jobs := cache.Snapshot().Jobs
				switch {
				case tc.want == "" && (err != nil || !jobs.Known || len(jobs.Value) != len(tc.all)):
					t.Errorf("%s, %s: %v, known %v, %d jobs", name, reader, err, jobs.Known, len(jobs.Value))
				case tc.want != "" && (slurmclient.CodeOf(err) != slurmclient.CodeUnauthorized || !strings.Contains(err.Error(), tc.want) ||
					jobs.Known):
					t.Errorf("%s, %s: %v, known %v", name, reader, err, jobs.Known)
				}
				isSilent.Store(true)
				if err := cache.Refresh(ctx, slurmclient.Jobs); tc.want != "" && err == nil {
					t.Errorf("%s, %s: jobs are known since nobody can be asked any more", name, reader)
				}
				cancel()
				running.Wait()
				srv.Close()
			}
		}
	})
}

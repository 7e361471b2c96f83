//go:build e2e

package exporter

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// TestPrivateJobs: with PrivateData=jobs, an ordinary user's token does not show the jobs of others, and an operator's token does.
func TestPrivateJobs(t *testing.T) {
	t.Parallel()
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			cluster, err := realslurm.Start(t.Context(), realslurm.Config{Version: release, Conf: []string{"PrivateData=jobs"},
				NodeConfs: []string{"n1 CPUs=8 RealMemory=4000"}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := cluster.Close(); err != nil {
					t.Error(err)
				}
			})
			job := func(name, want string, args ...string) realslurm.Job {
				return realslurm.Job{Name: name, User: "alice", Want: []string{want},
					Args: append(args, "-n1", "--mem=100", "--wrap", "sleep 86400")}
			}
			if _, err := cluster.Submit(t.Context(), job("running", "RUNNING"), job("held", "PENDING JobHeldUser", "-H")); err != nil {
				t.Fatal(err)
			}
			for _, version := range servedVersions(t, cluster) {
				for _, reader := range []slurmclient.JobsReader{slurmclient.ReadList, slurmclient.ReadDelta} {
					known, err := readJobsAs(t, cluster, "carol", version, reader)
					if known || slurmclient.CodeOf(err) != slurmclient.CodeUnauthorized {
						t.Errorf("%s, %s: to carol, who has no jobs, jobs are known: %v, %v", version, reader, known, err)
					}
					if known, err = readJobsAs(t, cluster, "bob", version, reader); !known || err != nil {
						t.Errorf("%s, %s: to bob, who is an operator, jobs are known: %v, %v", version, reader, known, err)
					}
				}
			}
		})
	}
}

// readJobsAs reads jobs with the token of a user, and reports whether they are known.
func readJobsAs(t *testing.T, cluster *realslurm.Cluster, user, version string, reader slurmclient.JobsReader) (known bool, err error) {
	t.Helper()
	token, err := cluster.Run(t.Context(), "", "scontrol", "token", "username="+user, "lifespan=600")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(strings.TrimPrefix(strings.TrimSpace(token), "SLURM_JWT=")), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := slurmclient.New(slurmclient.Config{URL: cluster.URL, Version: version, Token: slurmclient.TokenFromFile(file)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	cache := slurmclient.NewCache(client, slurmclient.CacheConfig{Period: time.Hour, JobsReader: reader,
		Resources: []slurmclient.Resource{slurmclient.Jobs}})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { cache.Run(ctx) })
	defer running.Wait()
	defer cancel()
	err = cache.Refresh(ctx, slurmclient.Jobs)
	return cache.Snapshot().Jobs.Known, err
}

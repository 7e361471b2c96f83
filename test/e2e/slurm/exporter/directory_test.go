//go:build e2e

package exporter

import (
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// TestUsersOfADirectory: slurmrestd does not know the users, and AccountingStorageTRES lists no GPUs, as by default.
func TestUsersOfADirectory(t *testing.T) {
	t.Parallel()
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			cluster, err := realslurm.Start(t.Context(), realslurm.Config{Version: release, RestdWithoutUsers: true,
				NodeConfs: []string{"n1 CPUs=8 RealMemory=4000 Gres=gpu:h100:4"},
				Gres:      []string{"NodeName=n1 Name=gpu Type=h100 File=/inst/gpu/h100-[0-3]"},
				Conf:      []string{"GresTypes=gpu", "AccountingStorageTRES=cpu"}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := cluster.Close(); err != nil {
					t.Error(err)
				}
			})
			if _, err := cluster.Run(t.Context(), "", "sacctmgr", "-Qi", "modify", "user", "alice", "set", "MaxJobs=1"); err != nil {
				t.Fatal(err)
			}
			job := func(name, user, want string, args ...string) realslurm.Job {
				return realslurm.Job{Name: name, User: user, Args: append(args, "-n1", "--mem=100", "--wrap", "sleep 86400"), Want: []string{want}}
			}
			if _, err := cluster.Submit(t.Context(), job("typed", "alice", "RUNNING", "--gres=gpu:h100:2"),
				job("limited", "alice", "PENDING AssocMaxJobsLimit"), job("untyped", "bob", "RUNNING", "--gpus=1")); err != nil {
				t.Fatal(err)
			}
			p := startExporter(t, "--slurm.url="+cluster.URL, "--slurm.token-file="+cluster.TokenFile, "--collector.users")
			got := p.ScrapeFresh("nodes", "jobs")
			want := map[string]float64{
				`slurm_user_jobs{user="3001",state="running"}`: 1, `slurm_user_jobs{user="3001",state="pending"}`: 1,
				`slurm_user_jobs{user="3002",state="running"}`: 1,
				`slurm_user_gpus{user="3001",state="running"}`: 2, `slurm_user_gpus{user="3002",state="running"}`: 1,
				`slurm_gpus{type="h100",state="allocated"}`: 3,
			}
			for series, value := range want {
				if got[series] != value {
					t.Errorf("%s is %v, want %v", series, got[series], value)
				}
			}
		})
	}
}

//go:build e2e

package exporter

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/e2e/slurm/numbers"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

func TestOutageOfSlurmrestd(t *testing.T) {
	t.Parallel()
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			cluster := startCluster(t, release)
			p := startExporter(t, "--slurm.url="+cluster.URL, "--slurm.token-file="+cluster.TokenFile)
			before := p.ScrapeFresh("nodes", "jobs", "diag", "partitions", "ping")
			if before["slurm_up"] != 1 {
				t.Fatal("slurm_up is not 1")
			}
			if err := cluster.Stop(t.Context(), "slurmrestd"); err != nil {
				t.Fatal(err)
			}
			var during numbers.Series
			p.Await("slurm_up to be 0", func() bool { during = p.Scrape(); return during["slurm_up"] == 0 })
			age := during[`slurm_exporter_snapshot_age_seconds{resource="nodes"}`]
			p.Await("the age to grow", func() bool {
				during = p.Scrape()
				return during[`slurm_exporter_snapshot_age_seconds{resource="nodes"}`] > age+2
			})
			for k, v := range before {
				now, ok := during[k]
				if !ok {
					t.Errorf("%s disappeared", k)
				}
				if strings.HasPrefix(k, "slurm_nodes{") && now != v {
					t.Errorf("%s went from %v to %v", k, v, now)
				}
			}
			if err := cluster.Start(t.Context(), "slurmrestd"); err != nil {
				t.Fatal(err)
			}
			p.Await("slurm_up to be 1 again", func() bool { return p.Scrape()["slurm_up"] == 1 })
			if n := strings.Count(p.Log(), "polling fails"); n > 12 {
				t.Errorf("%d log lines say that polling fails", n)
			}
		})
	}
}

// TestRotatedToken replaces the token while the exporter runs and then waits until slurmctld
// rejects the old one because of its age.
func TestRotatedToken(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, "26.05")
	token := func(lifespan string) []byte {
		out, err := cluster.Run(t.Context(), "", "scontrol", "token", "username=slurm", "lifespan="+lifespan)
		if err != nil {
			t.Fatal(err)
		}
		_, value, _ := strings.Cut(strings.TrimSpace(out), "=")
		return []byte(value)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, token("10"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startExporter(t, "--slurm.url="+cluster.URL, "--slurm.token-file="+file)
	first := p.Scrape()["slurm_exporter_token_expiry_time_seconds"]
	if first == 0 {
		t.Fatal("the expiry time of the token is missing")
	}
	next := file + ".next"
	if err := os.WriteFile(next, token("3600"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, file); err != nil {
		t.Fatal(err)
	}
	var s numbers.Series
	p.Await("the first token to expire", func() bool {
		s = p.Scrape()
		if s["slurm_up"] != 1 {
			t.Error("a scrape shows slurm_up 0")
		}
		return s["slurm_controller_stats_start_time_seconds"] > 0 && clusterTime(t, cluster) > first+2
	})
	s = p.ScrapeFresh("nodes", "jobs", "diag")
	for k, v := range s {
		if strings.HasPrefix(k, "slurm_exporter_polls_total{") && strings.Contains(k, `result="error"`) && v != 0 {
			t.Errorf("%s is %v", k, v)
		}
	}
	if s["slurm_exporter_token_expiry_time_seconds"] <= first+60 {
		t.Error("the expiry time of the new token is missing")
	}
	if strings.Contains(p.Log(), string(token("60"))[:20]) {
		t.Error("a token is in the log")
	}
}

// clusterTime returns the time of the cluster's clock in Unix seconds.
func clusterTime(t *testing.T, cluster *realslurm.Cluster) float64 {
	t.Helper()
	out, err := cluster.Run(t.Context(), "", "date", "+%s")
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(out), 64)
	if err != nil {
		t.Fatal(err)
	}
	return seconds
}

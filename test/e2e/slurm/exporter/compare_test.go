//go:build e2e

package exporter

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/test/e2e/slurm/numbers"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// startCluster starts a cluster with nodes and jobs in every state that Populate produces.
func startCluster(t *testing.T, release string) *realslurm.Cluster {
	t.Helper()
	cluster, err := realslurm.Start(t.Context(), realslurm.Config{
		Version: release, Nodes: realslurm.PopulateNodes, MinJobAge: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := cluster.Populate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return cluster
}

// servedVersions returns the API versions that the server serves. It tries a request with each.
func servedVersions(t *testing.T, cluster *realslurm.Cluster) []string {
	t.Helper()
	var out []string
	for n := 40; n <= 45; n++ {
		version := fmt.Sprintf("v0.0.%d", n)
		client, err := slurmclient.New(slurmclient.Config{
			URL: cluster.URL, Version: version, Token: slurmclient.TokenFromFile(cluster.TokenFile),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Stats(t.Context()); err == nil {
			out = append(out, version)
		}
	}
	return out
}

func TestNumbersEqualThoseOfSlurmsCommands(t *testing.T) {
	t.Parallel()
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			cluster := startCluster(t, release)
			versions := servedVersions(t, cluster)
			if len(versions) < 3 {
				t.Fatalf("the server serves only %v", versions)
			}
			for _, version := range versions {
				t.Run(version+"/list", func(t *testing.T) { compareSeries(t, cluster, version, "list") })
			}
			// The contract tests compare the readers with each other in every version.
			newest := versions[len(versions)-1]
			t.Run(newest+"/delta", func(t *testing.T) { compareSeries(t, cluster, newest, "delta") })
		})
	}
}

func compareSeries(t *testing.T, cluster *realslurm.Cluster, version, reader string) {
	p := startExporter(t, "--slurm.url="+cluster.URL, "--slurm.token-file="+cluster.TokenFile,
		"--slurm.api-version="+version, "--slurm.jobs-reader="+reader, "--collector.users", "--collector.rpc_users", "--collector.job_info")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var want, got numbers.Series
	for ok := false; !ok; {
		want, got, ok = readConsistent(ctx, t, cluster, p)
	}
	differences, compared := numbers.Differences(want, got)
	for _, d := range differences {
		t.Error(d)
	}
	for k, v := range map[string]float64{"slurm_up": 1, `slurm_controller_up{controller="ctl",role="primary"}`: 1} {
		if got[k] != v {
			t.Errorf("%s is %v", k, got[k])
		}
	}
	t.Logf("%d series equal those of Slurm's commands", compared)
	if compared < 150 {
		t.Errorf("only %d series were compared", compared)
	}
}

// readConsistent returns the series of the commands and of the exporter. ok reports whether the
// commands returned the same before and after the exporter read the cluster.
func readConsistent(ctx context.Context, t *testing.T, cluster *realslurm.Cluster, p *numbers.Exporter) (
	want, got numbers.Series, ok bool) {
	t.Helper()
	if ctx.Err() != nil {
		t.Fatal(ctx.Err())
	}
	before := numbers.ReadCommands(t, cluster)
	got = p.ScrapeFresh("nodes", "jobs", "diag", "partitions", "licenses", "reservations")
	after := numbers.ReadCommands(t, cluster)
	for k, v := range after.Series {
		if is := before.Series[k]; is != v && !(math.IsNaN(is) && math.IsNaN(v)) { // NaN is not compared
			t.Logf("%s went from %v to %v", k, before.Series[k], v)
			return nil, nil, false
		}
	}
	return after.Series, got, len(before.Series) == len(after.Series)
}

//go:build e2e

package exporter

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/test/realslurm"
)

// start starts a cluster with something of everything.
func start(t *testing.T, release string) *realslurm.Cluster {
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

// offered lists the API versions that a server serves, by asking with each.
func offered(t *testing.T, cluster *realslurm.Cluster) []string {
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
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			cluster := start(t, release)
			versions := offered(t, cluster)
			if len(versions) < 3 {
				t.Fatalf("only %v are served", versions)
			}
			for _, version := range versions {
				for _, reader := range []string{"list", "delta"} {
					t.Run(version+"/"+reader, func(t *testing.T) { compare(t, cluster, version, reader) })
				}
			}
		})
	}
}

func compare(t *testing.T, cluster *realslurm.Cluster, version, reader string) {
	p := startExporter(t, "--slurm.url="+cluster.URL, "--slurm.token-file="+cluster.TokenFile,
		"--slurm.api-version="+version, "--slurm.jobs-reader="+reader, "--collector.users")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var want, got series
	for ok := false; !ok; {
		want, got, ok = steady(ctx, t, cluster, p)
	}
	got = comparable(got)
	families := map[string]bool{}
	for k := range want {
		families[nameOf(k)] = true
	}
	keys := map[string]bool{}
	for _, m := range []series{want, got} {
		for k := range m {
			if families[nameOf(k)] {
				keys[k] = true
			}
		}
	}
	// Families of which the commands tell only some series.
	partly := []string{"slurm_jobs_cpus", "slurm_jobs_nodes", "slurm_rpc_requests_total", "slurm_qos_max_jobs_per_user"}
	compared := 0
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		_, told := want[k]
		if !told && slices.Contains(partly, nameOf(k)) {
			continue
		}
		compared++
		if math.Abs(want[k]-got[k]) > 1e-9 {
			t.Errorf("%s is %v, but Slurm's commands say %v", k, got[k], want[k])
		}
	}
	for k, v := range map[string]float64{"slurm_up": 1, `slurm_controller_up{controller="ctl",role="primary"}`: 1} {
		if got[k] != v {
			t.Errorf("%s is %v", k, got[k])
		}
	}
	t.Logf("%d series of %d families equal those of Slurm's commands", compared, len(families))
	if compared < 150 {
		t.Errorf("only %d series were compared", compared)
	}
}

// comparable adds sums that the commands tell where the exporter tells parts.
func comparable(got series) series {
	out := maps.Clone(got)
	for k, v := range got {
		switch nameOf(k) {
		case "slurm_partition_pending_jobs_by_reason":
			out["by_reason"+k[len(nameOf(k)):strings.Index(k, `,class=`)]+"}"] += v
		case "slurm_gpus":
			if kind, found := strings.CutSuffix(k, `,state="allocated"}`); found {
				out["slurm_gpus_allocated"+kind[len("slurm_gpus"):]+"}"] += v
			}
		}
	}
	return out
}

func nameOf(key string) string {
	name, _, _ := strings.Cut(key, "{")
	return name
}

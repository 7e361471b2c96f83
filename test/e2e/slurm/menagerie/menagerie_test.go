//go:build e2e

package menagerie

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/e2e/slurm/numbers"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// TestPrograms runs every program against every variant.
func TestPrograms(t *testing.T) {
	for _, release := range realslurm.Versions() {
		for _, h := range readTestClusters(t) {
			t.Run(release+"/"+h.Name, func(t *testing.T) {
				t.Parallel()
				begin := time.Now()
				clusters := []*realslurm.Cluster{startCluster(t, h.clusterConfig(release))}
				members := []*testCluster{&h}
				if h.Sibling != nil {
					config := h.Sibling.clusterConfig(release)
					config.AccountingOf = clusters[0]
					clusters, members = append(clusters, startCluster(t, config)), append(members, h.Sibling)
				}
				up := time.Since(begin)
				for i, m := range members {
					m.populate(t, clusters[i])
				}
				t.Logf("up after %.1f s, populated after %.1f s", up.Seconds(), time.Since(begin).Seconds())
				for i, m := range members {
					m.compareAll(t, clusters[i])
					recordAnswers(t, clusters[i])
				}
				t.Logf("compared after %.1f s", time.Since(begin).Seconds())
			})
		}
	}
}

// startCluster starts a cluster that stops at the end of the test.
func startCluster(t *testing.T, config realslurm.Config) *realslurm.Cluster {
	t.Helper()
	cluster, err := realslurm.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

// populate submits all jobs and waits until they run or are pending as expected.
func (h *testCluster) populate(t *testing.T, cluster *realslurm.Cluster) {
	t.Helper()
	var setup, then []string
	var jobs, after []realslurm.Job
	for i := range h.Variants {
		v := &h.Variants[i]
		setup, then = append(setup, v.Setup...), append(then, v.Then...)
		jobs, after = append(jobs, v.jobsToSubmit(v.Jobs, 0)...), append(after, v.jobsToSubmit(v.After, len(v.Jobs))...)
	}
	runShell(t, cluster, setup)
	submitJobs(t, cluster, jobs)
	runShell(t, cluster, then)
	submitJobs(t, cluster, after)
}

// runShell runs shell lines as root in the cluster.
func runShell(t *testing.T, cluster *realslurm.Cluster, lines []string) {
	t.Helper()
	if len(lines) == 0 {
		return
	}
	if out, err := cluster.Run(t.Context(), "", "sh", "-exc", strings.Join(lines, "\n")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func submitJobs(t *testing.T, cluster *realslurm.Cluster, jobs []realslurm.Job) {
	t.Helper()
	if _, err := cluster.Submit(t.Context(), jobs...); err != nil {
		t.Fatal(err)
	}
}

// observation is the output of the programs and of Slurm's commands at one time.
type observation struct {
	commands *numbers.Commands
	slurm    *clusterRecords
	metrics  numbers.Series
	adapter  *adapter
	cluster  *realslurm.Cluster
}

// compareAll compares the output of each program with Slurm's commands until they agree.
func (h *testCluster) compareAll(t *testing.T, cluster *realslurm.Cluster) {
	exporter := numbers.StartExporter(t, exporterBinary, "--slurm.url="+cluster.URL,
		"--slurm.token-file="+cluster.TokenFile,
		"--collector.users", "--collector.rpc_users", "--collector.job_info", "--compat=slinky,openmetrics,vpenso")
	a := startAdapter(t, cluster, h)
	programs := []struct {
		name    string
		compare func(*testing.T, *observation) (differences []string, compared int)
	}{
		{"exporter", compareExporter}, {"compat", compareCompat}, {"provider", compareProvider},
		{"limits", compareLimits}, {"view", compareView}, {"plugin", comparePlugin},
		{"prompt", comparePrompt},
	}
	open := map[string][]string{}
	var table []string
	const maxObservations = 8
	for i := range maxObservations {
		if i >= maxObservations/2 {
			updateRunningJob(t, cluster)
		}
		s := observeCluster(t, cluster, exporter, a)
		for _, p := range programs {
			if differences, seen := open[p.name]; seen && len(differences) == 0 {
				continue
			}
			differences, compared := p.compare(t, s)
			if open[p.name] = differences; len(differences) == 0 {
				table = append(table, fmt.Sprintf("%s %d", p.name, compared))
			}
		}
		if len(table) == len(programs) {
			break
		}
	}
	for _, p := range programs {
		t.Run(h.Name+"/"+p.name, func(t *testing.T) {
			for _, d := range open[p.name] {
				t.Error(d)
			}
		})
	}
	for _, v := range h.Variants {
		t.Logf("variant %-20s values equal to those of Slurm's commands: %s", v.Name, strings.Join(table, ", "))
	}
}

// updateRunningJob makes slurmctld count an update of the jobs. It changes the reason of a waiting job without that at
// times, so that update_time leaves the programs with the reason of before for minutes. The update of a waiting job would
// reset its reason.
func updateRunningJob(t *testing.T, cluster *realslurm.Cluster) {
	t.Helper()
	runShell(t, cluster, []string{`squeue -h -t R,CF -o %A | head -n 1 | xargs -r -I{} scontrol update jobid={} admincomment=seen`})
}

// observeCluster refreshes every program and then reads the commands. A difference that exists only
// because something changed in between disappears in the next observation.
func observeCluster(t *testing.T, cluster *realslurm.Cluster, exporter *numbers.Exporter, a *adapter) *observation {
	t.Helper()
	s := &observation{adapter: a, cluster: cluster}
	s.metrics = exporter.ScrapeFresh("nodes", "jobs", "diag", "partitions", "licenses", "reservations")
	if err := a.cache.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.commands = numbers.ReadCommands(t, cluster)
	s.slurm = readRecords(t, cluster)
	return s
}

//go:build e2e

package exporter

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/test/e2e/slurm/numbers"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// TestEfficiencyIsThatOfSacct: an exporter of each API version counts what jobs used that end while it runs. Another cluster has the same
// slurmdbd.
func TestEfficiencyIsThatOfSacct(t *testing.T) {
	t.Parallel()
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			start := func(cfg realslurm.Config) *realslurm.Cluster {
				cfg.Version, cfg.NodeConfs = release, []string{"n1 CPUs=8 RealMemory=4000"}
				cfg.Conf = []string{"JobAcctGatherType=jobacct_gather/linux", "JobAcctGatherFrequency=1"}
				cluster, err := realslurm.Start(t.Context(), cfg)
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
			cluster := start(realslurm.Config{})
			other := start(realslurm.Config{Name: "other", AccountingOf: cluster})
			begin := time.Now()
			exporters := map[string]*numbers.Exporter{}
			for _, version := range servedVersions(t, cluster) {
				exporters[version] = startExporter(t, "--slurm.url="+cluster.URL, "--slurm.token-file="+cluster.TokenFile,
					"--slurm.api-version="+version, "--slurm.slow-poll-interval=5s", "--collector.job_efficiency", "--collector.user_efficiency")
				exporters[version].ScrapeFresh("ended_jobs")
			}
			const work = `i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; sleep 3`
			submit := func(to *realslurm.Cluster, user, script string, args ...string) string {
				argv := append([]string{"sbatch", "--parsable", "--output=/dev/null", "--chdir=/", "--mem=100"}, append(args, "--wrap", script)...)
				id, err := to.Run(t.Context(), user, argv...)
				if err != nil {
					t.Fatal(err)
				}
				return strings.TrimSpace(id)
			}
			submit(cluster, "alice", "srun -n2 sh -c '"+work+"'", "-n2")
			submit(cluster, "bob", work+"; exit 3")
			requeued := submit(cluster, "bob", "sleep 5")
			late := submit(cluster, "bob", "trap '' TERM; "+work+"; sleep 300") // its steps are recorded seconds after its end
			submit(other, "alice", work)
			process.Await(t, func() error {
				_, err := cluster.Run(t.Context(), "", "scontrol", "requeuehold", requeued)
				return err
			})
			process.Await(t, func() error {
				out, err := cluster.Run(t.Context(), "", "squeue", "--noheader", "--format=%T", "--jobs="+late)
				if err != nil || strings.TrimSpace(out) != "RUNNING" {
					return fmt.Errorf("job %s is %q, %w", late, out, err)
				}
				_, err = cluster.Run(t.Context(), "", "scancel", late)
				return err
			})
			for version, e := range exporters {
				process.Await(t, func() error {
					ran, want := readEfficiency(t, cluster, begin) // slurmctld may correct a run that has ended
					if ran != 4 {
						return fmt.Errorf("%d of 4 runs have ended", ran)
					}
					if different := describeDifferences(e.Scrape(), want); len(different) > 0 {
						return fmt.Errorf("%s: %s", version, strings.Join(different, "; "))
					}
					return nil
				})
				_, want := readEfficiency(t, cluster, begin)
				for _, d := range describeDifferences(e.ScrapeFresh("ended_jobs"), want) { // a job in several readings counts once
					t.Errorf("%s: %s", version, d)
				}
			}
		})
	}
}

// describeDifferences describes the wanted series that others differ from. sacct prints milliseconds.
func describeDifferences(got, want numbers.Series) (out []string) {
	for series, value := range want {
		if math.Abs(got[series]-value) > 0.02+value*1e-3 {
			out = append(out, fmt.Sprintf("%s is %v, want %v", series, got[series], value))
		}
	}
	return out
}

// readEfficiency returns how many runs of jobs have ended since a time according to sacct, and the series of their usage.
func readEfficiency(t *testing.T, cluster *realslurm.Cluster, since time.Time) (int, numbers.Series) {
	t.Helper()
	out, err := cluster.Run(t.Context(), "", "sacct", "--allusers", "--duplicates", "--parsable2", "--noheader", "--noconvert",
		"--starttime="+since.UTC().Format("2006-01-02T15:04:05"),
		"--format=jobidraw,account,user,end,elapsedraw,alloccpus,alloctres,totalcpu,tresusageintot")
	if err != nil {
		t.Fatal(err, out)
	}
	series, ended := numbers.Series{}, 0
	var job []string
	memory, steps, unmeasured := 0.0, 0, 0
	count := func() {
		if job == nil || job[3] == "Unknown" {
			return
		}
		ended++
		if steps == 0 || unmeasured > 0 { // slurmd never reported the usage, as for a run that is requeued when it begins
			for label, owner := range map[string]string{"account": job[1], "user": job[2]} {
				series[fmt.Sprintf("slurm_%s_ended_jobs_unmeasured_total{%s=%q}", label, label, owner)]++
			}
			return
		}
		elapsed, cpus := parseNumber(t, job[4]), parseNumber(t, job[5])
		allocated, err := slurm.ParseTRES(job[6])
		if err != nil {
			t.Fatal(err)
		}
		for label, owner := range map[string]string{"account": job[1], "user": job[2]} {
			add := func(name string, value float64) {
				series[fmt.Sprintf("slurm_%s_ended_job_%s_total{%s=%q}", label, name, label, owner)] += value
			}
			add("cpu_allocated_seconds", cpus*elapsed)
			add("cpu_used_seconds", parseSeconds(t, job[7]))
			add("memory_allocated_byte_seconds", float64(allocated.MemoryMiB)*(1<<20)*elapsed)
			add("memory_used_byte_seconds", memory*elapsed)
		}
	}
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		if strings.Contains(fields[0], ".") {
			if steps++; !strings.Contains(fields[8], "mem=") {
				unmeasured++
			}
			for entry := range strings.SplitSeq(fields[8], ",") {
				if text, is := strings.CutPrefix(entry, "mem="); is {
					memory = max(memory, parseNumber(t, text))
				}
			}
			continue
		}
		count()
		job, memory, steps, unmeasured = fields, 0, 0, 0
	}
	count()
	return ended, series
}

func parseNumber(t *testing.T, text string) float64 {
	t.Helper()
	out, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// parseSeconds parses a time of sacct(1), [DD-[HH:]]MM:SS.SSS or HH:MM:SS.
func parseSeconds(t *testing.T, text string) float64 {
	t.Helper()
	out := 0.0
	for part := range strings.SplitSeq(text, ":") {
		out = out*60 + parseNumber(t, part)
	}
	return out
}

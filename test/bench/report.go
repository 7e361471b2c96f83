package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const reportPath = "docs/performance.md"

var titles = map[string]string{
	"poll":     fmt.Sprintf("Polling %d nodes and %d jobs", totalNodes, totalJobs),
	"scrape":   "Scraping all native collectors at that size",
	"memory":   "Memory of slurm-exporter at that size",
	"restd":    fmt.Sprintf("What a poll of %d job records costs a real slurmrestd", queueSize),
	"demand":   fmt.Sprintf("Telling what %d jobs need of %d pools", totalJobs, poolCount),
	"adapter":  fmt.Sprintf("Answering %d HPAs at that size", hpaCount),
	"reaction": "From sbatch to a changed spec.replicas",
	"operator": fmt.Sprintf("From zero to %d workers and back", workerCount),
}

// updateReport replaces one benchmark's part of the page.
func updateReport(name string, figures []figure) error {
	path, err := repositoryPath(reportPath)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	var b strings.Builder
	b.WriteString(reportHeader)
	for _, each := range benchmarks {
		text := sectionOf(string(old), each.name)
		if each.name == name {
			text = renderSection(name, figures)
		}
		if text != "" {
			fmt.Fprintf(&b, "\n%s%s%s", beginMarker(each.name), text, endMarker(each.name))
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644) //nolint:gosec // a page for everybody
}

const reportHeader = `# Performance

Written by ` + "`make bench`" + `; ` + "`BENCH=poll`" + ` (or scrape, memory, restd, demand, adapter, reaction, operator) measures one part.
Machines differ and are noisy: ratios within one run mean more than seconds.

- *ours* reads the lists of nodes and jobs over HTTP into a published snapshot.
  *generated* decodes the same bytes with encoding/json into the structs that are
  generated from slurmrestd's own document. *skip* and *tokens* are libraries that walk
  the same bytes and keep nothing; *scan* is one that walks bytes already in memory.
  The cheapest of these is the floor.
- CPU is the user and system time of the reading process, including garbage collection.
  Heap is the largest growth of live and unswept objects. Each variant runs three times
  in its own process; the median counts.
- Scrapes and polls run at the same time. Meanwhile the simulated cluster keeps running
  its jobs.
- The jobs belong to 300 users, eight partitions and four QOS, and differ in times, sizes,
  names and paths like those of real users. Scrape times are measured on an otherwise
  idle machine.
- slurmrestd is Debian's, of Slurm 26.05, with jemalloc. Its records are tasks split off
  from one array. 1 % of them change their state between two polls, which are a default
  period (10 s) apart. The delta reader's first poll reads the whole array, because
  slurmrestd has no other way to report its remaining tasks; that memory is free again
  before the next poll.
- Demand is computed for 200 pools that divide the nodes. The adapter polls with default
  settings. It serves, over TLS and with a token, the queries of 500 HPAs spread evenly
  over a sync period; its CPU per query includes its own polls. The table names the
  programs that share the cores. The floor is the latency of an empty request (/livez)
  from the same client to the same server, at the same rate and during polls.
- The delta reader reads a record again at the next poll if its state changed, if a job
  that it depends on changed, or if the limit that holds it back may have room. It then
  reads the record at each poll until slurmctld has evaluated the job again, for at most
  90 s. When a user updates a job, diag counts the update without naming the job, so every
  pending job is in doubt: each poll reads a sixth of the records, and at least 1,000, so
  doubt ends within seven polls. Until then the snapshot is as old as its oldest doubtful
  record. All other records are read within 128 polls, arrays with more than 100 split
  tasks within 256. ` + "`" + `slurm_exporter_poll_round_seconds{resource="jobs"}` + "`" + ` is the duration of
  such a round at the current pace, and ` + "`" + `slurm_exporter_jobs_reader` + "`" + ` shows how jobs are read.
- Reaction times are measured with real Slurm, the stock HPA controller and
  slurm-metrics-adapter at their default intervals: a poll every 10 s and a sync every
  15 s. The bound is their sum. Between polls the adapter checks diag every second for
  submitted or updated jobs (` + "`" + `--slurm.look-interval` + "`" + `), and polls the jobs at once if there
  are any, as long as such polls take less than a twentieth of the time. The other chain
  is a scrape every 30 s, a KEDA poll every 30 s and the same sync.
- Workers are pods on 25 fake Kubernetes nodes of a real control plane. They register with
  a simulated slurmrestd, which is polled at the default interval. A fake kubelet makes a
  pod Ready with one write and removes it with one write. The operator, the controller
  manager and the scheduler have no rate limits. Writes are counted in the API server's
  audit log for the operator, including refused ones, until nothing changes any more. A
  NodeSet is up when its status counts every worker as Ready and every Slurm node is idle.
  A Deployment and a NodeSet are scaled alternately on the same cores. Workers have a
  headless Service, whose endpoints the controller manager writes, so one Deployment has
  such a Service too.
`

func beginMarker(name string) string { return "<!-- " + name + " -->\n" }
func endMarker(name string) string   { return "<!-- /" + name + " -->\n" }

// sectionOf returns what the page has of a benchmark.
func sectionOf(text, name string) string {
	_, rest, ok := strings.Cut(text, beginMarker(name))
	if !ok {
		return ""
	}
	body, _, _ := strings.Cut(rest, endMarker(name))
	return body
}

func renderSection(name string, figures []figure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s, on %s.\n\n| figure | value | aim |\n|---|---|---|\n", titles[name],
		time.Now().UTC().Format(time.DateOnly), describeMachine())
	for _, f := range figures {
		fmt.Fprintf(&b, "| `%s` | %s %s | %s |\n", f.name, formatNumber(f.value), f.unit, f.aim)
	}
	return b.String()
}

// describeMachine describes what the figures were taken on.
func describeMachine() string {
	return fmt.Sprintf("%d x %s, %s, %s, %s/%s, kernel %s", runtime.NumCPU(),
		valueInFile("/proc/cpuinfo", "model name"),
		totalMemory(), runtime.Version(), runtime.GOOS, runtime.GOARCH, kernelRelease())
}

func valueInFile(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func kernelRelease() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

func totalMemory() string {
	var kib float64
	if _, err := fmt.Sscanf(valueInFile("/proc/meminfo", "MemTotal"), "%f kB", &kib); err != nil {
		return "unknown memory"
	}
	return fmt.Sprintf("%.0f GiB", kib/(1<<20))
}

// repositoryPath finds a file of the repository.
func repositoryPath(name string) (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, statErr := os.Stat(filepath.Join(dir, "Makefile")); statErr == nil {
			return filepath.Join(dir, name), nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("there is no Makefile above the working directory")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

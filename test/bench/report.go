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
	"poll": fmt.Sprintf("Polling %d nodes and %d jobs", totalNodes, totalJobs), "scrape": "Scraping all native collectors at that size",
	"memory": "Memory of slurm-exporter at that size", "restd": fmt.Sprintf("What a poll of %d job records costs a real slurmrestd", queueSize),
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
Machines differ, and are noisy: ratios within one run mean more than seconds.

- *ours* reads the lists of nodes and jobs over HTTP into a published snapshot;
  *generated* reads the same bytes with encoding/json into the structs that are
  generated from slurmrestd's own document; *skip* and *tokens* are libraries that walk
  the same bytes and keep nothing, *scan* one that walks them when they are in memory
  already; the cheapest of these is the floor.
- CPU is that of the reading process, user and system, its garbage collector included;
  heap is the most that its live and unswept objects grew by. Each way runs in a process
  of its own, three times; the median counts.
- Scrapes go on while polls do. The simulated cluster keeps running its jobs meanwhile.
- The jobs are of 300 users, eight partitions and four QOS, and differ in times, sizes,
  names and paths as those of people do. Scrape times are those of a machine that does
  nothing else.
- slurmrestd is Debian's, of Slurm 26.05, with jemalloc. Its records are the tasks of one
  array, split off; 1 % of them change their state between two polls, which are a
  default period (10 s) apart. The delta reader's first poll reads that array whole, as
  slurmrestd knows no other way to tell of what is left of it; the memory for that is
  free again when the next poll comes.
- The demand is told of 200 pools, to each of which a part of the nodes belongs. The
  adapter, which polls as by default, is asked over TLS with a token what 500 HPAs ask in
  a sync period, evenly; its CPU for each query includes that of its own polls. What it
  shares the cores with is named; the floor is what the same client sees when it asks
  the same server, as often and while polls go on, for nothing (/livez).
- The delta reader reads a record again at the next poll when its state changed, when a job
  that it depends on changed, or when the limit that holds it back may have room, and then
  at each poll until slurmctld has looked at it again, for 90 s at the most. When a person
  updated some job, which diag counts without saying which, every pending job is in doubt: a
  sixth of the records, and at least 1,000, are read in each poll, so doubt ends within
  seven polls. Until then the age of the reading is that of its oldest doubt. All other
  records have their turn within 128 polls, arrays with more than 100 split tasks within
  256. ` + "`" + `slurm_exporter_poll_round_seconds{resource="jobs"}` + "`" + ` is how long that takes at the
  present pace, ` + "`" + `slurm_exporter_jobs_reader` + "`" + ` how jobs are read.
- Reactions are those of a real Slurm, the stock HPA controller and slurm-metrics-adapter
  with their default intervals: a poll every 10 s, a sync every 15 s; the bound is their
  sum. Between polls the adapter asks diag each second whether jobs were submitted or
  updated (` + "`" + `--slurm.look-interval` + "`" + `), and polls the jobs at once if so, as long as such polls
  take less than a twentieth of the time. The other chain is a scrape every 30 s, KEDA's look
  every 30 s and the same sync.
- Workers are pods on 25 fake Kubernetes nodes of a real control plane, with a simulated
  slurmrestd that they register with, polled as by default. Their kubelets need one write
  for a pod to be Ready and one for it to be gone. The operator, the controller manager and
  the scheduler may ask as often as they can. Writes are those that the API server's audit
  log has of the operator, refused ones too, until all has settled. A NodeSet is up when its
  status counts every worker as Ready and every Slurm node is idle. A Deployment and a NodeSet
  are scaled by turns, and everything shares the cores; workers have a headless Service,
  whose endpoints the controller manager writes, so there is a Deployment with one too.
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
	fmt.Fprintf(&b, "## %s\n\n%s, on %s.\n\n| figure | value | aim |\n|---|---|---|\n", titles[name], time.Now().UTC().Format(time.DateOnly), describeMachine())
	for _, f := range figures {
		fmt.Fprintf(&b, "| `%s` | %s %s | %s |\n", f.name, formatNumber(f.value), f.unit, f.aim)
	}
	return b.String()
}

// describeMachine describes what the figures were taken on.
func describeMachine() string {
	return fmt.Sprintf("%d x %s, %s, %s, %s/%s, kernel %s", runtime.NumCPU(), valueInFile("/proc/cpuinfo", "model name"),
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

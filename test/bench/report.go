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
	"distance": fmt.Sprintf("Polling %d jobs of a slurmrestd that is %v away", distantJobs, 2*distantDelay),
	"demand":   fmt.Sprintf("Telling what %d jobs need of %d pools", totalJobs, poolCount),
	"adapter":  fmt.Sprintf("Answering %d HPAs at that size", hpaCount),
	"reaction": "From sbatch to a changed spec.replicas",
	"operator": fmt.Sprintf("From zero to %d workers and back", workerCount),
	"cluster":  fmt.Sprintf("%d Slurm clusters of custom resources", clusterCount),
}

// updateReport replaces one benchmark's part of the page. The introduction is written by hand.
func updateReport(name string, figures []figure) error {
	path, err := repositoryPath(reportPath)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	introduction, _, found := strings.Cut(string(old), beginMarker(benchmarks[0].name))
	if !found {
		return fmt.Errorf("%s has no figures of benchmark %s", path, benchmarks[0].name)
	}
	var b strings.Builder
	b.WriteString(strings.TrimRight(introduction, "\n") + "\n")
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

func beginMarker(name string) string { return "<!-- " + name + " -->\n" }
func endMarker(name string) string   { return "<!-- /" + name + " -->\n" }

// sectionOf returns the page's section of a benchmark.
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

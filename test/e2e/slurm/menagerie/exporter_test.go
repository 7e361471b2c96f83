//go:build e2e

package menagerie

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/e2e/slurm/numbers"
)

// compareExporter compares the exporter's own metrics. None can be missing.
func compareExporter(_ *testing.T, s *observation) ([]string, int) {
	differences, compared := numbers.Differences(s.commands.Series, s.metrics)
	for k, v := range s.metrics {
		name, _, _ := strings.Cut(k, "{")
		if v != 1 && (name == "slurm_up" || name == "slurm_exporter_collector_success" ||
			name == "slurm_exporter_resource_up") {
			differences = append(differences, fmt.Sprintf("%s is %v", k, v))
		}
	}
	return differences, compared
}

// compatNames are series of other exporters that equal one of our series, or the sum of several: a
// name with a label selector.
var compatNames = []struct{ theirs, ours string }{
	{"slurm_jobs_pending_total", `slurm_jobs{state="pending"}`},
	{"slurm_jobs_running_total", `slurm_jobs{state="running"}`},
	{"slurm_jobs_suspended_total", `slurm_jobs{state="suspended"}`},
	{"slurm_jobs_hold_total", "slurm_jobs_held"},
	{"slurm_jobs_cpus_alloc_total", `slurm_jobs_cpus{state="running"}`},
	{"slurm_queue_pending", `slurm_jobs{state="pending"}`},
	{"slurm_queue_running", `slurm_jobs{state="running"}`},
	{"slurm_cpus_alloc", `slurm_cpus{state="allocated"}`},
	{"slurm_cpus_idle", `slurm_cpus{state="idle"}`},
	{"slurm_cpus_other", `slurm_cpus{state="other"}`},
	{"slurm_gpus_alloc", "slurm_gpus_allocated"},
	{"slurm_gpus_total", "slurm_node_gpus"},
	{"slurm_nodes_total", "slurm_nodes"},
}

// compareCompat compares the series with names of other exporters.
func compareCompat(_ *testing.T, s *observation) (differences []string, compared int) {
	same := func(theirs string, want float64) {
		compared++
		if got, ok := s.metrics[theirs]; !ok || got != want {
			differences = append(differences,
				fmt.Sprintf("%s is %v (%v), but Slurm's commands say %v", theirs, got, ok, want))
		}
	}
	for _, c := range compatNames {
		same(c.theirs, s.sumOf(c.ours))
	}
	for k, v := range s.commands.Series {
		name, labels, _ := strings.Cut(k, "{")
		switch {
		case name == "slurm_node_cpus":
			same("slurm_node_cpus_total{"+labels, v)
		case name == "slurm_node_cpus_allocated":
			same("slurm_node_cpus_alloc_total{"+labels, v)
		case name == "slurm_node_memory_allocated_bytes":
			same("slurm_node_memory_alloc_bytes{"+labels, v)
		case name == "slurm_partition_pending_jobs":
			same("slurm_partition_jobs_pending{"+labels, v)
			same("slurm_partition_jobs_pending_total{"+labels, v)
		}
	}
	return differences, compared
}

// sumOf adds up the series of the commands with the family name that end with the labels.
func (s *observation) sumOf(selector string) (sum float64) {
	name, labels, _ := strings.Cut(selector, "{")
	for k, v := range s.commands.Series {
		if family, of, _ := strings.Cut(k, "{"); family == name && strings.HasSuffix(of, labels) {
			sum += v
		}
	}
	return sum
}

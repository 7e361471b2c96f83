package numbers

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Series are samples by their name and labels.
type Series map[string]float64

// Differences lists where the exporter differs from the commands, among the families
// that the commands tell of, and returns how many series are compared. What should be
// NaN may be anything, but must be there.
func Differences(want, got Series) (differences []string, compared int) {
	got = comparable(got)
	families := map[string]bool{}
	for k := range want {
		families[nameOf(k)] = true
	}
	keys := maps.Clone(want)
	for k := range got {
		if families[nameOf(k)] {
			keys[k] = 0
		}
	}
	// Families of which the commands tell only some series.
	partly := []string{"slurm_jobs_cpus", "slurm_jobs_nodes", "slurm_rpc_requests_total", "slurm_qos_max_jobs_per_user"}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if _, told := want[k]; !told && slices.Contains(partly, nameOf(k)) {
			continue
		}
		compared++
		if _, ok := got[k]; math.IsNaN(want[k]) && ok {
			continue
		}
		if math.Abs(want[k]-got[k]) > 1e-9 {
			differences = append(differences, fmt.Sprintf("%s is %v, but Slurm's commands say %v", k, got[k], want[k]))
		}
	}
	return differences, compared
}

// comparable adds sums that the commands tell where the exporter tells parts.
func comparable(got Series) Series {
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

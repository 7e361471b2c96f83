package numbers

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Series are samples by name and labels.
type Series map[string]float64

// Differences describes where the exporter differs from the commands, in the families that the
// commands cover, and returns how many series it compared. Where NaN is wanted, any value is
// accepted, but the series must exist.
func Differences(want, got Series) (differences []string, compared int) {
	got = addComparableSums(got)
	families := map[string]bool{}
	for k := range want {
		families[familyOf(k)] = true
	}
	keys := maps.Clone(want)
	for k := range got {
		if families[familyOf(k)] {
			keys[k] = 0
		}
	}
	// The commands report only some series of these families.
	partly := []string{"slurm_jobs_cpus", "slurm_jobs_nodes", "slurm_rpc_requests_total", "slurm_qos_max_jobs_per_user"}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if _, ok := want[k]; !ok && slices.Contains(partly, familyOf(k)) {
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

// addComparableSums adds sums where the commands report a sum and the exporter its parts.
func addComparableSums(got Series) Series {
	out := maps.Clone(got)
	for k, v := range got {
		switch familyOf(k) {
		case "slurm_partition_pending_jobs_by_reason":
			out["by_reason"+k[len(familyOf(k)):strings.Index(k, `,class=`)]+"}"] += v
		case "slurm_gpus":
			if kind, found := strings.CutSuffix(k, `,state="allocated"}`); found {
				out["slurm_gpus_allocated"+kind[len("slurm_gpus"):]+"}"] += v
			}
		}
	}
	return out
}

func familyOf(key string) string {
	name, _, _ := strings.Cut(key, "{")
	return name
}

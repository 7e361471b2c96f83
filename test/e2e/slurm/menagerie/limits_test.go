//go:build e2e

package menagerie

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// The columns of sacctmgr with limits, after those that identify whom they limit.
var (
	qosLimits = []string{"Name", "GrpJobs", "MaxJobsPU", "MaxJobsPA", "GrpTRES", "MaxTRES", "MaxTRESPerNode",
		"MaxTRESPU", "MaxTRESPA", "MinTRES"}
	associationLimits = []string{"Cluster", "Account", "User", "Partition", "GrpJobs", "MaxJobs", "GrpTRES", "MaxTRES",
		"MaxTRESPerNode"}
)

// readLimits reads the limits that sacctmgr shows, by QOS or association.
func readLimits(t *testing.T, cluster *realslurm.Cluster) map[string]commandRecord {
	t.Helper()
	out := map[string]commandRecord{}
	if !cluster.Accounting() {
		return out
	}
	for kind, columns := range map[string][]string{"qos": qosLimits, "association": associationLimits} {
		text, err := cluster.Run(t.Context(), "", "sacctmgr", "-nP", "show", kind, "format="+strings.Join(columns, ","))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text) {
			cells := strings.Split(strings.TrimRight(line, "\n"), "|")
			if len(cells) != len(columns) {
				t.Fatalf("sacctmgr prints %q for %v", line, columns)
			}
			limits, whose := commandRecord{}, kind
			for i, column := range columns {
				if slices.Contains([]string{"Name", "Cluster", "Account", "User", "Partition"}, column) {
					whose += " " + cells[i]
				} else {
					limits[column] = sortWords(cells[i])
				}
			}
			out[whose] = limits
		}
	}
	return out
}

// oversubscribeJobs parses how many jobs can share a core from scontrol's output, such as
// "FORCE:2"; 1 where jobs do not share cores.
func oversubscribeJobs(shown string) string {
	if _, jobs, shared := strings.Cut(shown, ":"); shared {
		return jobs
	}
	return "1"
}

// compareLimits compares the limits that demand follows.
func compareLimits(_ *testing.T, s *observation) ([]string, int) {
	c := &comparison{}
	snapshot := s.adapter.cache.Snapshot()
	got := map[string]commandRecord{}
	for _, q := range snapshot.QOS.Value {
		got["qos "+q.Name] = commandRecord{
			"GrpJobs": limitOf(q.MaxJobs), "MaxJobsPU": limitOf(q.MaxJobsPerUser),
			"MaxJobsPA": limitOf(q.MaxJobsPerAccount),
			"GrpTRES":   formatTRES(q.GrpTRES), "MaxTRES": formatTRES(q.MaxTRESPerJob),
			"MaxTRESPerNode": formatTRES(q.MaxTRESPerNode),
			"MaxTRESPU":      formatTRES(q.MaxTRESPerUser), "MaxTRESPA": formatTRES(q.MaxTRESPerAccount),
			"MinTRES": formatTRES(q.MinTRESPerJob),
		}
	}
	for _, a := range snapshot.Associations.Value {
		got[strings.Join([]string{"association", a.Cluster, a.Account, a.User, a.Partition}, " ")] = commandRecord{
			"GrpJobs": limitOf(a.GrpJobs), "MaxJobs": limitOf(a.MaxJobs),
			"GrpTRES": formatTRES(a.GrpTRES), "MaxTRES": formatTRES(a.MaxTRESPerJob),
			"MaxTRESPerNode": formatTRES(a.MaxTRESPerNode),
		}
	}
	for _, p := range snapshot.Partitions.Value {
		c.compare("partition "+p.Name, "OverSubscribe", oversubscribeJobs(s.slurm.partitions[p.Name]["OverSubscribe"]),
			fmt.Sprint(max(p.OversubscribeJobs, 1)))
	}
	for whose, limits := range s.slurm.limits {
		if got[whose] == nil {
			c.compare(whose, "the record", "present", "missing")
		}
		for name, want := range limits {
			c.compare(whose, name, want, got[whose][name])
		}
	}
	return c.differences, c.compared
}

func limitOf(n slurm.Number) string {
	if v, set := n.Value(); set {
		return fmt.Sprint(v)
	}
	return ""
}

// formatTRES formats TRES like sacctmgr, sorted.
func formatTRES(tres map[string]uint64) string {
	var words []string
	for name, count := range tres {
		words = append(words, fmt.Sprintf("%s=%d", name, count))
	}
	return sortWords(strings.Join(words, ","))
}

func sortWords(text string) string {
	return strings.Join(slices.Sorted(strings.SplitSeq(text, ",")), ",")
}

//go:build e2e

package menagerie

import (
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// commandRecord is a command's output about one job, node or partition.
type commandRecord map[string]string

// clusterRecords are the records of a cluster by name or ID.
type clusterRecords struct{ jobs, nodes, partitions, priorities, limits map[string]commandRecord }

// squeueFields are the columns of squeue that are compared with the view, by name.
var squeueFields = []struct{ name, format string }{
	{"id", "%A"}, {"name", "%j"}, {"user", "%u"}, {"userID", "%U"}, {"group", "%g"}, {"account", "%a"}, {"qos", "%q"},
	{"partitions", "%P"}, {"state", "%T"}, {"priority", "%Q"}, {"nodeCount", "%D"}, {"cpus", "%C"}, {"nodes", "%N"},
	{"reservation", "%v"}, {"licenses", "%W"}, {"features", "%f"}, {"nice", "%y"}, {"shown", "%i"},
	{"node list or reason", "%R"},
}

// columnSeparator separates columns. No job name contains it.
const columnSeparator = "\x1f"

func readRecords(t *testing.T, cluster *realslurm.Cluster) *clusterRecords {
	t.Helper()
	run := func(argv ...string) []string {
		out, err := cluster.Run(t.Context(), "", argv...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimRight(out, "\n"), "\n")
	}
	r := &clusterRecords{jobs: map[string]commandRecord{}, priorities: map[string]commandRecord{},
		limits: readLimits(t, cluster)}
	var formats []string
	for _, f := range squeueFields {
		formats = append(formats, f.format)
	}
	for _, line := range run("squeue", "--local", "-a", "-h", "-t", "all", "-o",
		strings.Join(formats, columnSeparator)) {
		if cells := strings.Split(line, columnSeparator); len(cells) == len(squeueFields) {
			job := commandRecord{}
			for i, f := range squeueFields {
				job[f.name] = strings.TrimSpace(cells[i])
			}
			r.jobs[job["id"]] = job
		}
	}
	for _, line := range run("sprio", "-h", "-o", "%i|%Y") {
		if id, priority, ok := strings.Cut(strings.ReplaceAll(line, " ", ""), "|"); ok {
			r.priorities[id] = commandRecord{"priority": priority}
		}
	}
	r.nodes = showRecords(run("scontrol", "-a", "-d", "-o", "show", "node"), "NodeName")
	r.partitions = showRecords(run("scontrol", "-a", "-o", "show", "partition"), "PartitionName")
	return r
}

// showRecords parses the output of scontrol show. A value with spaces is truncated.
func showRecords(lines []string, key string) map[string]commandRecord {
	out := map[string]commandRecord{}
	for _, line := range lines {
		r := commandRecord{}
		for word := range strings.FieldsSeq(line) {
			if name, value, ok := strings.Cut(word, "="); ok && r[name] == "" {
				r[name] = value
			}
		}
		if r[key] != "" {
			out[r[key]] = r
		}
	}
	return out
}

// withoutNull returns a value, or "" for Slurm's words for no value.
func withoutNull(text string) string {
	if slices.Contains([]string{"(null)", "N/A", "None", "none"}, text) {
		return ""
	}
	return text
}

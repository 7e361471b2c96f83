//go:build e2e

package menagerie

import (
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/realslurm"
)

// record is what a command tells of one job, node or partition.
type record map[string]string

// records are those of a cluster by their name or id.
type records struct{ jobs, nodes, partitions, priorities, limits map[string]record }

// squeueFields are the columns of squeue's that are compared with the view, by name.
var squeueFields = []struct{ name, format string }{
	{"id", "%A"}, {"name", "%j"}, {"user", "%u"}, {"userID", "%U"}, {"group", "%g"}, {"account", "%a"}, {"qos", "%q"},
	{"partitions", "%P"}, {"state", "%T"}, {"priority", "%Q"}, {"nodeCount", "%D"}, {"cpus", "%C"}, {"nodes", "%N"},
	{"reservation", "%v"}, {"licenses", "%W"}, {"features", "%f"}, {"nice", "%y"}, {"shown", "%i"}, {"node list or reason", "%R"},
}

// between separates columns: no job's name has it.
const between = "\x1f"

func readRecords(t *testing.T, cluster *realslurm.Cluster) *records {
	t.Helper()
	run := func(argv ...string) []string {
		out, err := cluster.Run(t.Context(), "", argv...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimRight(out, "\n"), "\n")
	}
	r := &records{jobs: map[string]record{}, priorities: map[string]record{}, limits: readLimits(t, cluster)}
	var formats []string
	for _, f := range squeueFields {
		formats = append(formats, f.format)
	}
	for _, line := range run("squeue", "--local", "-a", "-h", "-t", "all", "-o", strings.Join(formats, between)) {
		if cells := strings.Split(line, between); len(cells) == len(squeueFields) {
			job := record{}
			for i, f := range squeueFields {
				job[f.name] = strings.TrimSpace(cells[i])
			}
			r.jobs[job["id"]] = job
		}
	}
	for _, line := range run("sprio", "-h", "-o", "%i|%Y") {
		if id, priority, ok := strings.Cut(strings.ReplaceAll(line, " ", ""), "|"); ok {
			r.priorities[id] = record{"priority": priority}
		}
	}
	r.nodes = showRecords(run("scontrol", "-a", "-d", "-o", "show", "node"), "NodeName")
	r.partitions = showRecords(run("scontrol", "-a", "-o", "show", "partition"), "PartitionName")
	return r
}

// showRecords reads lines of scontrol's words; a value with spaces is cut.
func showRecords(lines []string, key string) map[string]record {
	out := map[string]record{}
	for _, line := range lines {
		r := record{}
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

// told is a value without Slurm's words for nothing.
func told(text string) string {
	if slices.Contains([]string{"(null)", "N/A", "None", "none"}, text) {
		return ""
	}
	return text
}

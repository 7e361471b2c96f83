package inuse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// job is an unfinished job, or a task or a component of one.
type job struct {
	id string
	// partitions are the partitions that the job was submitted to, or the one where it runs.
	partitions []string
	// nodes are the nodes that it has or asks for by name, and allocated those that it has.
	nodes, allocated []string
	// gresTypes are the kinds of GRES that it has or asks for.
	gresTypes []string
}

// jobList is squeue's output.
type jobList struct {
	unfinished []job
	// count is the number of jobs, including finished ones.
	count uint64
}

// finishedStates are the states in which slurmctld no longer ends a job. A job in any other state counts.
var finishedStates = []string{"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
	"PREEMPTED", "REVOKED", "TIMEOUT"}

// jobFormat is the format of squeue that parseJobs reads. Without a size a field would have 20 characters.
const jobFormat = "JobArrayID:0|,State:0|,Partition:0|,ReqNodes:0|,NodeList:0|,tres-per-job:0|,tres-per-node:0|," +
	"tres-per-socket:0|,tres-per-task:0|"

// parseJobs returns the jobs that squeue prints. A line that it does not understand is an error.
func parseJobs(printed string) (jobList, error) {
	var out jobList
	for line := range strings.Lines(printed) {
		fields, err := splitLine(line, jobFormat, 2)
		if err != nil {
			return out, err
		}
		out.count++
		if slices.Contains(finishedStates, fields[1]) {
			continue
		}
		j := job{id: fields[0], partitions: append(strings.Split(fields[2], ","), fields[2]), gresTypes: gresTypes(fields[5:])}
		for i, list := range fields[3:5] {
			if list == "" || list == "(null)" || list == "N/A" {
				continue
			}
			names, err := hostlist.Expand(list)
			if err != nil {
				return out, fmt.Errorf("reading the nodes of job %s: %w", j.id, err)
			}
			j.nodes = append(j.nodes, names...)
			if i == 1 {
				j.allocated = names
			}
		}
		out.unfinished = append(out.unfinished, j)
	}
	return out, nil
}

// splitLine returns the fields of a line that squeue prints in a format. The field at an index is a partition, whose name may
// contain the separator.
func splitLine(line, format string, partition int) ([]string, error) {
	fields := strings.Split(strings.TrimRight(line, "\n"), "|")
	more := len(fields) - strings.Count(format, "|") - 1
	if more < 0 {
		return nil, fmt.Errorf("squeue printed %q", line)
	}
	return slices.Replace(fields, partition, partition+more+1, strings.Join(fields[partition:partition+more+1], "|")), nil
}

// gresTypes returns the kinds of GRES in lists such as "gres/gpu:h100:1,gres/shard=2".
func gresTypes(lists []string) []string {
	var out []string
	for tres := range strings.SplitSeq(strings.Join(lists, ","), ",") {
		words := strings.FieldsFunc(tres, func(r rune) bool { return strings.ContainsRune("/:=", r) })
		if len(words) > 1 && words[0] == "gres" {
			out = append(out, words[1])
		}
	}
	return out
}

// missing returns the names of before that after does not have, sorted.
func missing(before, after []string) []string {
	out := slices.DeleteFunc(slices.Clone(before), func(name string) bool { return slices.Contains(after, name) })
	slices.Sort(out)
	return slices.Compact(out)
}

// use is something that jobs use, with their ids.
type use struct {
	name string
	jobs []string
}

// usesOf returns which of the removed names jobs use. 24.11 ends a waiting job if one of several partitions is missing.
func usesOf(removed []string, jobs []job, namesOf func(job) []string) []use {
	users := map[string][]string{} // the ids of jobs by name
	for _, name := range removed {
		users[name] = nil
	}
	for _, j := range jobs {
		for _, name := range namesOf(j) {
			ids, isRemoved := users[name]
			if isRemoved && (len(ids) == 0 || ids[len(ids)-1] != j.id) {
				users[name] = append(ids, j.id)
			}
		}
	}
	var out []use
	for _, name := range removed {
		if ids := users[name]; len(ids) > 0 {
			out = append(out, use{name: name, jobs: ids})
		}
	}
	return out
}

func partitionsOf(j job) []string { return j.partitions }
func nodesOf(j job) []string      { return j.nodes }
func gresTypesOf(j job) []string  { return j.gresTypes }
func allocatedTo(j job) []string  { return j.allocated }

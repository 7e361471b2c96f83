package inuse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/partition"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// gresFiles is a line of gres.conf that names files of devices, or an Include of a file that only workers have.
type gresFiles struct {
	files []string
	// nodes are those that the line is for, nil for all.
	nodes []string
	// isGuessed: a list of the line is malformed, and Slurm guesses its meaning.
	isGuessed bool
}

// readGRESFiles returns the lines that name files, of gres.conf and the files that it includes.
func readGRESFiles(files configagent.Files) []gresFiles {
	var out []gresFiles
	for _, setting := range partition.SettingsOf(files, "gres.conf") {
		var line gresFiles
		if setting.IsInclude() {
			line.files = []string{setting.Value}
		}
		for _, field := range setting.Fields() {
			switch strings.ToLower(field.Name) {
			case "file", "files", "multiplefiles":
				line.files = line.expand(field.Value)
			case "nodename":
				line.nodes = line.expand(field.Value)
			}
		}
		if len(line.files) > 0 {
			out = append(out, line)
		}
	}
	return out
}

// expand returns the names of a hostlist of the line, which is a name itself if it cannot be read.
func (l *gresFiles) expand(list string) []string {
	names, err := hostlist.Expand(list)
	if err != nil {
		l.isGuessed, names = true, []string{list}
	}
	return names
}

func (l gresFiles) equal(other gresFiles) bool {
	return slices.Equal(l.files, other.files) && slices.Equal(l.nodes, other.nodes)
}

// lacksFiles reports whether a node may lack a file for which one of the added lines asks: one for which none of the lines
// before did.
func lacksFiles(node string, before, added []gresFiles) bool {
	had := map[string]bool{}
	for _, line := range before {
		for _, file := range line.files {
			had[file] = had[file] || !line.isGuessed && (line.nodes == nil || slices.Contains(line.nodes, node))
		}
	}
	return slices.ContainsFunc(added, func(line gresFiles) bool {
		return line.isGuessed || (line.nodes == nil || slices.Contains(line.nodes, node)) &&
			slices.ContainsFunc(line.files, func(file string) bool { return !had[file] })
	})
}

// checkGRESFiles returns *configagent.HeldError if slurmds with jobs may lack a file that gres.conf asks for. A reconfigure starts
// slurmd again, which ends when it has waited for the file, and in a pod its jobs with it.
func (j Judge) checkGRESFiles(ctx context.Context, before, after configagent.Files) error {
	old := readGRESFiles(before)
	added := slices.DeleteFunc(readGRESFiles(after),
		func(line gresFiles) bool { return slices.ContainsFunc(old, line.equal) })
	if len(before) == 0 || len(added) == 0 {
		return nil
	}
	const what = "gres.conf names files that nodes may lack, with which their slurmd would end and their jobs with it"
	jobs, err := j.jobs(ctx)
	if err != nil {
		return &configagent.HeldError{Reason: v1beta1.ReasonGresInUse,
			Message: fmt.Sprintf("%s, and slurmctld does not say which jobs there are: %v", what, err)}
	}
	lacking := slices.DeleteFunc(busyNodes(jobs.unfinished), func(node string) bool { return !lacksFiles(node, old, added) })
	uses := usesOf(lacking, jobs.unfinished, allocatedTo)
	if len(uses) == 0 {
		return nil
	}
	return &configagent.HeldError{Reason: v1beta1.ReasonGresInUse, Message: what + ": " + describe(uses) +
		"; give the lines a NodeName with other nodes, or it is applied when these jobs have ended"}
}

// busyNodes returns the nodes that jobs have, sorted.
func busyNodes(jobs []job) []string {
	nodes := map[string]bool{}
	for _, j := range jobs {
		for _, node := range j.allocated {
			nodes[node] = true
		}
	}
	return slices.Sorted(maps.Keys(nodes))
}

package inuse

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// gresFiles is a line of gres.conf that names files of devices.
type gresFiles struct {
	// name is the kind of GRES, in lower case.
	name  string
	files []string
	// nodes are those that the line is for, nil for all.
	nodes []string
}

// readGRESFiles returns the lines of gres.conf that name files.
func readGRESFiles(files configagent.Files) []gresFiles {
	var out []gresFiles
	for _, setting := range slurmconf.ParseSettings(string(files["gres.conf"].Content)) {
		var line gresFiles
		for _, field := range setting.Fields() {
			switch strings.ToLower(field.Name) {
			case "name":
				line.name = strings.ToLower(field.Value)
			case "file", "multiplefiles":
				line.files = expand(field.Value)
			case "nodename":
				line.nodes = expand(field.Value)
			}
		}
		if len(line.files) > 0 {
			out = append(out, line)
		}
	}
	return out
}

// filesOn returns the files that a node must have, by the kind of GRES.
func filesOn(node string, lines []gresFiles) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, line := range lines {
		if line.nodes != nil && !slices.Contains(line.nodes, node) {
			continue
		}
		if out[line.name] == nil {
			out[line.name] = map[string]bool{}
		}
		for _, file := range line.files {
			out[line.name][file] = true
		}
	}
	return out
}

// lacksFiles reports whether a node may lack a file that the wanted files ask for: one that was not asked for before, and more of
// a kind than the node has GRES.
func lacksFiles(node string, gres map[string]uint64, before, after []gresFiles) bool {
	had := filesOn(node, before)
	for name, files := range filesOn(node, after) {
		isMore := false
		for file := range files {
			isMore = isMore || !had[name][file]
		}
		if isMore && uint64(len(files)) > gres[name] {
			return true
		}
	}
	return false
}

// checkGRESFiles returns *configagent.HeldError if slurmds with jobs may lack a file that gres.conf asks for. A reconfigure starts
// slurmd again, which ends when it has waited 20 s for the file, and in a pod its jobs with it.
func (j Judge) checkGRESFiles(ctx context.Context, before, after configagent.Files) error {
	old, wanted := readGRESFiles(before), readGRESFiles(after)
	if len(before) == 0 || len(wanted) == 0 || sameFiles(old, wanted) {
		return nil
	}
	const what = "gres.conf names files that nodes may lack, with which their slurmd would end and their jobs with it"
	jobs, err := j.jobs(ctx)
	var gres map[string]map[string]uint64
	if err == nil {
		gres, err = j.countGRES(ctx)
	}
	if err != nil {
		return &configagent.HeldError{Reason: v1beta1.ReasonGresInUse,
			Message: fmt.Sprintf("%s, and slurmctld does not say which nodes and jobs there are: %v", what, err)}
	}
	lacking := slices.DeleteFunc(slices.Sorted(maps.Keys(gres)),
		func(node string) bool { return !lacksFiles(node, gres[node], old, wanted) })
	uses := usesOf(lacking, jobs.unfinished, allocatedTo)
	if len(uses) == 0 {
		return nil
	}
	return &configagent.HeldError{Reason: v1beta1.ReasonGresInUse, Message: what + ": " + describe(uses) +
		"; give the lines a NodeName with the nodes that have the files, or it is applied when these jobs have ended"}
}

func sameFiles(a, b []gresFiles) bool {
	return slices.EqualFunc(a, b, func(x, y gresFiles) bool {
		return x.name == y.name && slices.Equal(x.files, y.files) && slices.Equal(x.nodes, y.nodes)
	})
}

// shownGRES is what matters for GRES of a line of "scontrol --oneliner show nodes".
var shownGRES = regexp.MustCompile(`(?m)^NodeName=(\S+) .*? Gres=(\S+)`)

// countGRES returns the numbers of GRES that nodes have, by node.
func (j Judge) countGRES(ctx context.Context) (map[string]map[string]uint64, error) {
	shown, err := j.ask(ctx, "scontrol", "--all", "--oneliner", "show", "nodes")
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]uint64{}
	for _, line := range shownGRES.FindAllStringSubmatch(shown, -1) {
		counts, err := slurm.ParseGRES(line[2])
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", line[1], err)
		}
		out[line[1]] = counts
	}
	return out, nil
}

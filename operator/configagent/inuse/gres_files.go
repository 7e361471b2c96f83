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

// gresLine is a line of gres.conf that names files of devices or counts GRES, or an Include of a file that only workers have.
type gresLine struct {
	// kind and gresType are the kind and the type of the GRES, such as gpu and h100. An Include has no kind: its lines may have any.
	kind, gresType string
	files          []string
	// isOne means that all files belong to one device.
	isOne bool
	// count is how many the line counts without files, 0 if it has files and no Count.
	count uint64
	// isFound: only slurmd knows the count of the line, such as with AutoDetect.
	isFound bool
	// nodes are those that the line is for, nil for all, and isNode has them.
	nodes  []string
	isNode map[string]bool
	// isGuessed: a list of the line is malformed, and Slurm guesses its meaning.
	isGuessed bool
	// text is the line, and options are its options without NodeName, which are the same however they are written.
	text, options string
}

// defaultCount is the count of a line with neither Count nor files (gres.conf(5)).
const defaultCount = 1

// readGRESLines returns the lines that matter, of gres.conf and the files that it includes.
func readGRESLines(files configagent.Files) []gresLine {
	var out []gresLine
	for _, setting := range partition.SettingsOf(files, "gres.conf") {
		line, options := gresLine{text: setting.Text}, map[string][]string{}
		if setting.IsInclude() {
			line.files, line.isFound = []string{setting.Value}, true
			options["include"] = line.files
		}
		for _, field := range setting.Fields() {
			name := strings.ToLower(field.Name)
			line.set(name, field.Value)
			if name != "nodename" {
				options[name] = append(options[name], field.Value)
			}
		}
		if len(options["autodetect"]) > 0 && line.kind == "" {
			line.kind = "gpu" // No other kind is detected.
		}
		if _, hasCount := options["count"]; !hasCount && line.kind != "" && len(line.files) == 0 && !line.isFound {
			line.count = defaultCount
		}
		line.options = fmt.Sprint(options)
		if len(line.files) > 0 || line.count > 0 || line.isFound {
			out = append(out, line)
		}
	}
	return out
}

// set sets an option, whose name is in lower case.
func (l *gresLine) set(option, value string) {
	switch option {
	case "file", "files", "multiplefiles":
		l.files, l.isOne = l.expand(value), option == "multiplefiles"
	case "nodename":
		l.nodes, l.isNode = l.expand(value), map[string]bool{}
		for _, node := range l.nodes {
			l.isNode[node] = true
		}
	case "name":
		l.kind = strings.ToLower(value)
	case "type":
		l.gresType = value
	case "count":
		l.count = countGRES(value)
	case "autodetect":
		l.isFound = true
	}
}

// expand returns the names of a hostlist of the line, which is a name itself if it cannot be read.
func (l *gresLine) expand(list string) []string {
	names, err := hostlist.Expand(list)
	if err != nil {
		l.isGuessed, names = true, []string{list}
	}
	return names
}

// isFor reports whether the line is for a node.
func (l gresLine) isFor(node string) bool { return l.nodes == nil || l.isNode[node] }

// hasFilesOf reports whether both lines name the same files for the same nodes.
func (l gresLine) hasFilesOf(other gresLine) bool {
	return slices.Equal(l.files, other.files) && slices.Equal(l.nodes, other.nodes)
}

// lacksFiles reports whether a node may lack a file of an added line that no line before requires.
func lacksFiles(node string, before, added []gresLine) bool {
	had := map[string]bool{}
	for _, line := range before {
		if line.isGuessed || !line.isFor(node) {
			continue
		}
		for _, file := range line.files {
			had[file] = true
		}
	}
	return slices.ContainsFunc(added, func(line gresLine) bool {
		return line.isGuessed || line.isFor(node) && slices.ContainsFunc(line.files, func(file string) bool { return !had[file] })
	})
}

// checkGRES returns *configagent.HeldError if slurmds with jobs may lack a file that gres.conf requires, or if their nodes have fewer
// GRES than their jobs hold. A reconfigure restarts slurmd. It waits for the file, then ends, and in a pod its jobs end with it.
func (j Judge) checkGRES(ctx context.Context, before, after configagent.Files) error {
	old, wanted := readGRESLines(before), readGRESLines(after)
	added := slices.DeleteFunc(slices.Clone(wanted),
		func(line gresLine) bool { return len(line.files) == 0 || slices.ContainsFunc(old, line.hasFilesOf) })
	if len(before) == 0 || len(added) == 0 && !mayCountFewer(old, wanted) {
		return nil
	}
	const lacks = "gres.conf names files that nodes may lack, with which their slurmd would end and their jobs with it"
	const counts = "gres.conf counts fewer GRES of nodes, with which slurmctld would end the jobs that have them"
	jobs, err := j.jobsWithGRES(ctx)
	if err != nil {
		what := lacks
		if len(added) == 0 {
			what = counts
		}
		return &configagent.HeldError{Reason: v1beta1.ReasonGresInUse,
			Message: fmt.Sprintf("%s, and slurmctld does not say which jobs there are: %v", what, err)}
	}
	nodes := busyNodes(jobs.unfinished)
	lacking := slices.DeleteFunc(slices.Clone(nodes), func(node string) bool { return !lacksFiles(node, old, added) })
	if uses := usesOf(lacking, jobs.unfinished, allocatedTo); len(uses) > 0 {
		return &configagent.HeldError{Reason: v1beta1.ReasonGresInUse, Message: lacks + ": " + describe(uses) +
			"; give the lines a NodeName with other nodes, or it is applied when these jobs have ended"}
	}
	if uses := usesOf(nodes, jobs.unfinished, fewerGRES(old, wanted)); len(uses) > 0 {
		return &configagent.HeldError{Reason: v1beta1.ReasonGresInUse, Message: counts + ": " + describe(uses) +
			"; it is applied when these jobs have ended"}
	}
	return nil
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

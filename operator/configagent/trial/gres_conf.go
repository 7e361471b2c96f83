package trial

import (
	"maps"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// gresConf is the name of the file with the GRES of nodes. A slurmd that cannot read it ends at a reconfigure. slurmctld reads it
// only for cloud nodes, and checks only the syntax of the other nodes' lines.
const gresConf = "gres.conf"

// isGresReadable reports whether gres.conf exists and includes no file that only workers have.
func isGresReadable(files map[string]string) bool {
	settings := slurmconf.ParseFiles(files, files[gresConf])
	return len(settings) > 0 && slurmconf.CheckIncludes(settings, files, gresConf) == nil
}

// trialNode is the name of the cloud node of a trial. It is also the prefix of nodes with the lines of other nodes.
const trialNode = "slurmtide-trial"

// gresTrials returns trials in which slurmctld reads gres.conf: as a node that no line names, and as one node per distinct set of
// lines with a NodeName. Nodes with another AutoDetect get their own trial, because slurmctld of 24.11 refuses two values.
func gresTrials(confs, files map[string]string) []Trial {
	copies := copyGresNodes(slurmconf.ParseFiles(files, files[gresConf]))
	kinds := slices.Sorted(maps.Keys(copies.byAutoDetect))
	if !slices.Contains(kinds, "") {
		kinds = slices.Insert(kinds, 0, "")
	}
	var out []Trial
	for _, autoDetect := range kinds {
		names := slices.Clone(copies.byAutoDetect[autoDetect])
		if autoDetect == "" {
			names = slices.Insert(names, 0, trialNode)
		}
		own := maps.Clone(confs)
		own["slurm.conf"] += nodeLines(files, names)
		for file, text := range copies.texts(files) {
			own[file] = text
		}
		out = append(out, Trial{own, gresConf})
	}
	return out
}

// nodeLines returns the lines of slurm.conf that make slurmctld read gres.conf: cloud nodes with enough CPUs for any Cores of
// gres.conf. If MaxNodeCount is set, it is raised to fit them. slurmctld looks for no device of such nodes.
func nodeLines(files map[string]string, names []string) string {
	var out strings.Builder
	hasCount := slices.ContainsFunc(slurmconf.ParseFiles(files, files["slurm.conf"]), func(s slurmconf.Setting) bool {
		return strings.EqualFold(s.Name, "MaxNodeCount")
	})
	if hasCount {
		out.WriteString("MaxNodeCount=60000\n")
	}
	for _, name := range names {
		out.WriteString("NodeName=" + name + " NodeAddr=127.0.0.1 State=CLOUD CPUs=4096\n")
	}
	return out.String()
}

package trial

import (
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// gresConf is the name of the file with the GRES of nodes. All slurmds end at a reconfigure if they cannot read it, and
// slurmctld reads it only for nodes in a cloud.
const gresConf = "gres.conf"

// isGresReadable reports whether there is a gres.conf that includes no file which only workers have.
func isGresReadable(files map[string]string) bool {
	settings := slurmconf.ParseFiles(files, files[gresConf])
	return len(settings) > 0 && slurmconf.CheckIncludes(settings, files, gresConf) == nil
}

// gresLines returns the lines of slurm.conf with which slurmctld reads gres.conf: a node in a cloud, with as many CPUs as
// any Cores of gres.conf need, and a place for it. slurmctld looks for no device of such a node.
func gresLines(files map[string]string) string {
	const node = "NodeName=slurmtide-trial NodeAddr=127.0.0.1 State=CLOUD CPUs=4096\n"
	hasCount := slices.ContainsFunc(slurmconf.ParseFiles(files, files["slurm.conf"]), func(s slurmconf.Setting) bool {
		return strings.EqualFold(s.Name, "MaxNodeCount")
	})
	if hasCount {
		return "MaxNodeCount=60000\n" + node
	}
	return node
}

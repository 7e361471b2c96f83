package inuse

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/partition"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// conf is what jobs depend on in slurm.conf and the files that it includes.
type conf struct {
	partitions []string
	// nodeSets are the names of the lines NodeSet.
	nodeSets []string
	// nodes are the static nodes by name, with the options of which slurmctld ends jobs when they change.
	nodes map[string]string
	// maxJobs is how many jobs slurmctld remembers at most, the finished ones too.
	maxJobs uint64
}

// Defaults of slurm.conf(5).
const (
	defaultMaxJobCount = 10000
	defaultFirstJobID  = 1
	defaultMaxJobID    = 0x03ff0000
)

// readConf reads slurm.conf and the files that it includes.
func readConf(files configagent.Files) conf {
	settings := partition.Settings(files)
	out := conf{nodes: nodeShapes(settings)}
	for _, p := range slurmconf.PartitionsOf(settings) {
		out.partitions = append(out.partitions, p.Name)
	}
	count, first, last := uint64(defaultMaxJobCount), uint64(defaultFirstJobID), uint64(defaultMaxJobID)
	for _, setting := range settings {
		n, err := strconv.ParseUint(setting.Value, 10, 64)
		switch name := strings.ToLower(setting.Name); {
		case name == "nodeset":
			out.nodeSets = append(out.nodeSets, setting.Value)
		case err != nil:
		case name == "maxjobcount":
			count = n
		case name == "firstjobid":
			first = n
		case name == "maxjobid":
			last = n
		}
	}
	out.maxJobs = min(count, max(last, first)-first+1)
	return out
}

// shapeOptions are the options of a node that allocations refer to, in lower case: slurmctld requeues a job whose cores or
// GRES its node does not have any more.
var shapeOptions = []string{"boards", "corespersocket", "cpus", "gres", "procs", "sockets", "socketsperboard",
	"threadspercore"}

// nodeShapes returns the shapeOptions of nodes by name, with those of NodeName=DEFAULT lines before them.
func nodeShapes(settings []slurmconf.Setting) map[string]string {
	out, defaults := map[string]string{}, map[string]string{}
	for _, setting := range settings {
		if !strings.EqualFold(setting.Name, "NodeName") {
			continue
		}
		options := maps.Clone(defaults)
		for _, field := range setting.Fields() {
			if name := strings.ToLower(field.Name); slices.Contains(shapeOptions, name) {
				options[name] = field.Value
			}
		}
		if strings.EqualFold(setting.Value, "DEFAULT") {
			defaults = options
			continue
		}
		for _, name := range expand(setting.Value) {
			out[name] = fmt.Sprint(options)
		}
	}
	return out
}

// expand returns the names of a hostlist, which is a name itself if it cannot be read.
func expand(list string) []string {
	names, err := hostlist.Expand(list)
	if err != nil {
		return []string{list}
	}
	return names
}

// brokenNodes returns the nodes that other files remove or give another shape, sorted.
func (c conf) brokenNodes(other conf) []string {
	var out []string
	for name, shape := range c.nodes {
		if after, has := other.nodes[name]; !has || after != shape {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

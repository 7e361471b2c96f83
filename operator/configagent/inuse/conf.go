package inuse

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/partition"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// conf is the part of slurm.conf and its included files that jobs depend on.
type conf struct {
	partitions []string
	// nodeSets are the names of the lines NodeSet.
	nodeSets []string
	// nodes maps the static nodes to the options whose change makes slurmctld end jobs. down are the nodes that slurm.conf sets DOWN.
	nodes map[string]string
	down  map[string]bool
	// addresses are where slurmctld looks for the slurmds of static nodes, by name.
	addresses map[string]string
	// maxNodes is the maximum number of slurmctld's nodes, static and dynamic.
	maxNodes uint64
	// gresTypes are the kinds of GRES that slurmctld knows.
	gresTypes []string
	// licenses are the numbers of the licenses that slurm.conf names.
	licenses map[string]uint64
	// maxJobs is the maximum number of jobs that slurmctld remembers, including finished ones.
	maxJobs uint64
	// unread are the numbers among these that cannot be read, such as "maxjobcount=2M". With one of them it is unknown
	// whether slurmctld has enough room, and maxJobs is 1.
	unread []string
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
	out := conf{nodes: nodeShapes(settings), down: downNodes(settings), addresses: nodeAddresses(settings)}
	for _, p := range slurmconf.PartitionsOf(settings) {
		out.partitions = append(out.partitions, p.Name)
	}
	numbers := map[string]string{}
	for _, setting := range settings {
		switch name := strings.ToLower(setting.Name); name {
		case "nodeset":
			out.nodeSets = append(out.nodeSets, setting.Value)
		case "grestypes":
			out.gresTypes = slurmconf.SplitList(setting.Value)
		case "licenses":
			out.licenses = countLicenses(setting.Value)
		case "maxnodecount", "maxjobcount", "firstjobid", "maxjobid":
			numbers[name] = setting.Value
		}
	}
	out.maxNodes = max(out.number(numbers, "maxnodecount", 0), uint64(len(out.nodes)))
	first, last := out.number(numbers, "firstjobid", defaultFirstJobID), out.number(numbers, "maxjobid", defaultMaxJobID)
	out.maxJobs = max(1, min(out.number(numbers, "maxjobcount", defaultMaxJobCount), max(last, first)-first+1))
	if len(out.unread) > 0 {
		out.maxJobs = 1
	}
	return out
}

// number returns a number by name, or otherwise if slurm.conf does not set it. A number that cannot be read is 0.
func (c *conf) number(numbers map[string]string, name string, otherwise uint64) uint64 {
	value, has := numbers[name]
	if !has {
		return otherwise
	}
	n, ok := slurmconf.ParseNumber(value)
	if !ok {
		c.unread = append(c.unread, name+"="+value)
	}
	return n
}

// shapeOptions are the options of a node that allocations refer to, in lower case: slurmctld requeues a job if its node loses the
// job's cores or GRES.
var shapeOptions = []string{"boards", "corespersocket", "cpus", "gres", "procs", "sockets", "socketsperboard",
	"threadspercore"}

// nodeShapes returns the shapeOptions of nodes by name, including the options of preceding NodeName=DEFAULT lines.
func nodeShapes(settings []slurmconf.Setting) map[string]string {
	out := map[string]string{}
	visitNodeLines(settings, shapeOptions, func(nodes string, options map[string]string) {
		for _, name := range expand(nodes) {
			out[name] = fmt.Sprint(options)
		}
	})
	return out
}

// visitNodeLines calls visit for each NodeName line, with its nodes and the named options, in lower case. Options of preceding
// NodeName=DEFAULT lines are included.
func visitNodeLines(settings []slurmconf.Setting, named []string, visit func(nodes string, options map[string]string)) {
	defaults := map[string]string{}
	for _, setting := range settings {
		if !strings.EqualFold(setting.Name, "NodeName") {
			continue
		}
		options := maps.Clone(defaults)
		for _, field := range setting.Fields() {
			if name := strings.ToLower(field.Name); slices.Contains(named, name) {
				options[name] = field.Value
			}
		}
		if strings.EqualFold(setting.Value, "DEFAULT") {
			defaults = options
			continue
		}
		visit(setting.Value, options)
	}
}

// downNodes returns the nodes that slurm.conf sets DOWN, in their own line or in a line DownNodes: at the reconfigure slurmctld ends
// or requeues the jobs of static ones. With DRAIN and FAIL jobs continue.
func downNodes(settings []slurmconf.Setting) map[string]bool {
	out, isDownByDefault := map[string]bool{}, false
	for _, setting := range settings {
		name, isDown := strings.ToLower(setting.Name), isDownByDefault
		if name == "downnodes" {
			isDown = true
		} else if name != "nodename" {
			continue
		}
		for _, field := range setting.Fields() {
			if strings.EqualFold(field.Name, "State") {
				isDown = strings.EqualFold(field.Value, "DOWN")
			}
		}
		if name == "nodename" && strings.EqualFold(setting.Value, "DEFAULT") {
			isDownByDefault = isDown
			continue
		}
		if isDown {
			for _, node := range expand(setting.Value) {
				out[node] = true
			}
		}
	}
	return out
}

// nodeNames returns the names of the static nodes.
func (c conf) nodeNames() []string { return slices.Collect(maps.Keys(c.nodes)) }

// room returns the number of dynamic nodes that slurmctld may have.
func (c conf) room() uint64 { return c.maxNodes - uint64(len(c.nodes)) }

// expand returns the names of a hostlist, which is a name itself if it cannot be read.
func expand(list string) []string {
	names, err := hostlist.Expand(list)
	if err != nil {
		return []string{list}
	}
	return names
}

// brokenNodes returns the nodes that other files remove, set DOWN or give another shape, sorted.
func (c conf) brokenNodes(other conf) []string {
	var out []string
	for name, shape := range c.nodes {
		if after, has := other.nodes[name]; !has || after != shape || other.down[name] && !c.down[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

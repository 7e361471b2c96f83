package inuse

import (
	"slices"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// addressOptions are the options, in lower case, by which slurmctld finds the slurmd of a node, and slurmd its name. After a change
// slurmctld looks for slurmd only at the new address, sets the node DOWN after SlurmdTimeout and requeues its jobs.
var addressOptions = []string{"nodeaddr", "nodehostname", "port"}

// nodeAddresses returns the host, the address and the port of static nodes by name. Unless it is set, the host has the name of the node,
// the address is the host and the port empty.
func nodeAddresses(settings []slurmconf.Setting) map[string]string {
	out := map[string]string{}
	visitNodeLines(settings, addressOptions, func(nodes string, options map[string]string) {
		names := expand(nodes)
		for i, name := range names {
			host := valueOfNode(options["nodehostname"], i, len(names), name)
			address := valueOfNode(options["nodeaddr"], i, len(names), host)
			out[name] = host + " " + address + " " + valueOfNode(options["port"], i, len(names), "")
		}
	})
	return out
}

// valueOfNode returns the value of one of the nodes of a line, whose option may be a list with a value for each.
func valueOfNode(list string, node, nodes int, unset string) string {
	if list == "" {
		return unset
	}
	if values := expand(list); len(values) == nodes {
		return values[node]
	}
	return list
}

// movedNodes returns the nodes that other files keep, with another address, sorted.
func (c conf) movedNodes(other conf) []string {
	var out []string
	for name, address := range c.addresses {
		if after, has := other.addresses[name]; has && after != address {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

package collector

import (
	"slices"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// Sets returns the compatibility sets.
func Sets() []exposition.Set {
	return []exposition.Set{exposition.Slinky, exposition.OpenMetrics, exposition.Vpenso}
}

// Info describes a native collector, for flags and documentation.
type Info struct {
	Name, Help string
	// Default is whether the collector is enabled by default.
	Default bool
	// Needs lists the resources that the collector reads.
	Needs []slurmclient.Resource
}

// Native returns the native collectors in the order of the exposition.
func Native() []Info {
	var out []Info
	for _, c := range All() {
		if c.Set == exposition.Native {
			out = append(out, Info{c.Name, c.Help, !c.OptIn, slices.Clone(c.Needs)})
		}
	}
	return out
}

// All lists every collector. If two families have the same name, an exposition
// contains only the first.
func All() []exposition.Collector {
	return []exposition.Collector{
		nodesCollector(),
		usageCollector(),
		partitionsCollector(),
		demandCollector(),
		jobsCollector(),
		jobUsageCollector(),
		userUsageCollector(),
		jobInfoCollector(),
		jobEfficiencyCollector(),
		userEfficiencyCollector(),
		usersCollector(),
		accountsCollector(),
		qosCollector(),
		reservationsCollector(),
		licensesCollector(),
		fairshareCollector(),
		schedulerCollector(),
		rpcCollector(),
		rpcUsersCollector(),
		slinkyCollector(),
		openmetricsCollector(),
		vpensoCollector(),
	}
}

package exporter

import (
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// Set is a set of metric names: our own or those of another exporter.
type Set string

// The sets. All but Native keep dashboards for other exporters working: names and units are
// those of the other exporter, values are ours.
const (
	Native Set = "native"
	// Slinky contains the names of Slinky's slurm-exporter.
	Slinky Set = "slinky"
	// OpenMetrics contains the names of slurmctld's own endpoint (25.11 and later).
	OpenMetrics Set = "openmetrics"
	// Vpenso contains the names that Grafana dashboard 4323 queries.
	Vpenso Set = "vpenso"
)

// Sets returns the compatibility sets.
func Sets() []Set { return []Set{Slinky, OpenMetrics, Vpenso} }

// collector is a group of families that is enabled as a whole.
type collector struct {
	name string
	help string
	set  Set
	// optIn is true for a collector that is disabled by default.
	optIn bool
	// needs are the resources that the families read.
	needs []slurmclient.Resource
	// timeDependent is true if values change as time passes, without a new snapshot.
	timeDependent bool
	// hasJobHistory is true for the collector that shows the job history.
	hasJobHistory bool
	// note is an additional paragraph for the metrics page.
	note     string
	families []family
}

// CollectorInfo describes a native collector, for flags and documentation.
type CollectorInfo struct {
	Name, Help string
	// Default is whether the collector is enabled by default.
	Default bool
	// Needs lists the resources that the collector reads.
	Needs []slurmclient.Resource
}

// Collectors returns the native collectors in the order of the exposition.
func Collectors() []CollectorInfo {
	var out []CollectorInfo
	for _, c := range allCollectors() {
		if c.set == Native {
			out = append(out, CollectorInfo{c.name, c.help, !c.optIn, slices.Clone(c.needs)})
		}
	}
	return out
}

// allCollectors lists every collector. If two families have the same name, an exposition
// contains only the first.
func allCollectors() []collector {
	return []collector{
		nodesCollector(),
		partitionsCollector(),
		demandCollector(),
		jobsCollector(),
		usersCollector(),
		accountsCollector(),
		qosCollector(),
		reservationsCollector(),
		licensesCollector(),
		fairshareCollector(),
		schedulerCollector(),
		rpcCollector(),
		slinkyCollector(),
		openmetricsCollector(),
		vpensoCollector(),
	}
}

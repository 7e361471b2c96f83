package exporter

import (
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// Set is a set of metric names: our own, or those of another exporter.
type Set string

// The sets. All but Native exist so that dashboards made for others keep working;
// the names are theirs, with their units, the values are right.
const (
	Native Set = "native"
	// Slinky holds the names of Slinky's slurm-exporter.
	Slinky Set = "slinky"
	// OpenMetrics holds the names of slurmctld's own endpoint (25.11 and later).
	OpenMetrics Set = "openmetrics"
	// Vpenso holds the names behind Grafana dashboard 4323.
	Vpenso Set = "vpenso"
)

// Sets returns the compatibility sets.
func Sets() []Set { return []Set{Slinky, OpenMetrics, Vpenso} }

// collector is a group of families that is switched on or off as one.
type collector struct {
	name string
	help string
	set  Set
	// off: only when asked for.
	off bool
	// needs are the resources that the families read.
	needs []slurmclient.Resource
	// clocked: the values also change as time passes.
	clocked bool
	// observes: what is observed between snapshots belongs to it.
	observes bool
	// note is what else its page says, in whole sentences.
	note     string
	families []family
}

// CollectorInfo describes a collector to those who switch it.
type CollectorInfo struct {
	Name, Help string
	// Default is whether it is on unless told otherwise.
	Default bool
	// Needs are the resources that its metrics are read from.
	Needs []slurmclient.Resource
}

// Collectors describes the native collectors, in the order of the exposition.
func Collectors() []CollectorInfo {
	var out []CollectorInfo
	for _, c := range collectors() {
		if c.set == Native {
			out = append(out, CollectorInfo{c.name, c.help, !c.off, slices.Clone(c.needs)})
		}
	}
	return out
}

// collectors is the table of all there is. Where two families have one name, the
// first is the one in an exposition that holds both.
func collectors() []collector {
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

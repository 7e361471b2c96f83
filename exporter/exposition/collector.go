package exposition

import "github.com/slurmtide/slurmtide/slurmclient"

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

// Collector is a group of families that is enabled as a whole.
type Collector struct {
	Name string
	Help string
	Set  Set
	// OptIn is true for a collector that is disabled by default.
	OptIn bool
	// Needs are the resources that the families read.
	Needs []slurmclient.Resource
	// TimeDependent is true if values change as time passes, without a new snapshot.
	TimeDependent bool
	// HasJobHistory is true for the collector that shows the job history.
	HasJobHistory bool
	// Note is an additional paragraph for the metrics page.
	Note     string
	Families []Family
}

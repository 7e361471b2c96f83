package exposition

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// Set is a set of metric names: our own, or the names of another exporter.
type Set string

// The sets. All but Native keep dashboards for other exporters working: they use that exporter's names and units with
// our values.
const (
	Native Set = "native"
	// Slinky contains the names of Slinky's slurm-exporter.
	Slinky Set = "slinky"
	// OpenMetrics contains the names of slurmctld's own endpoint (25.11 and later).
	OpenMetrics Set = "openmetrics"
	// Vpenso contains the names that Grafana dashboard 4323 queries.
	Vpenso Set = "vpenso"
)

// History counts what only a comparison of snapshots shows. Record is called with every snapshot,
// scraped or not, from one goroutine; Families may be called concurrently with it, and then includes
// a part of what Record adds.
type History interface {
	// Record compares a snapshot with the previous one.
	Record(s *slurmclient.Snapshot)
	// Families renders the history and adds the labels to each sample.
	Families(labels ConstLabels) []RenderedFamily
	// Example returns a history of the same families with a sample of each.
	Example() prometheus.Gatherer
}

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
	// CountsTime is true if values change with every reading of a resource, changed or not.
	CountsTime bool
	// NewHistory returns the history that the collector shows after its families, nil for none.
	NewHistory func() History
	// Note is an additional paragraph for the metrics page.
	Note     string
	Families []Family
}

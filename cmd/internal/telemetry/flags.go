// Package telemetry contains the shared code of the programs that serve Slurm's metrics to Prometheus.
package telemetry

import (
	"github.com/spf13/pflag"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
	"github.com/slurmtide/slurmtide/exporter"
	"github.com/slurmtide/slurmtide/exporter/collector"
	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
)

// Flags choose the metrics that are served.
type Flags struct {
	Path       string
	MaxScrapes int
	Compat     []exposition.Set
	Limits     tally.Limits
	// NativeHistograms is whether protobuf is offered.
	NativeHistograms bool
	collectors       map[string]*bool
}

// AddFlags adds the flags. prefix begins the names of the HTTP server's flags, such as "web". per is the scope of the
// limits, such as " per cluster", or empty.
func (f *Flags) AddFlags(set *pflag.FlagSet, prefix, per string) {
	set.StringVar(&f.Path, prefix+".telemetry-path", "/metrics", "Path of the metrics.")
	set.IntVar(&f.MaxScrapes, prefix+".max-requests", 40, "Maximum number of concurrent scrapes. 0 means no limit.")
	set.BoolVar(&f.NativeHistograms, "native-histograms", false, "Serve protobuf, which contains native histograms, to servers "+
		"that prefer it.")
	f.collectors = map[string]*bool{}
	for _, c := range collector.Native() {
		on := new(bool)
		f.collectors[c.Name] = on
		set.BoolVar(on, "collector."+c.Name, c.Default, "Serve "+c.Help+".")
	}
	flags.ListVar(set, &f.Compat, "compat", "set",
		"Also serve the metric names of other exporters, separated by commas: "+flags.JoinNames(collector.Sets())+
			". Each set is also available separately at METRICS_PATH/SET.", collector.Sets()...)
	set.IntVar(&f.Limits.Nodes, "limit.nodes", 0, "Maximum number of nodes"+per+" with their own series, by name. "+
		"0 means no limit.")
	set.IntVar(&f.Limits.Users, "limit.users", 1000, "Maximum number of users"+per+" with their own series, by "+
		"number of jobs. The others are summed. 0 means no limit.")
	set.IntVar(&f.Limits.Accounts, "limit.accounts", 1000, "Maximum number of accounts"+per+" with their own "+
		"series, by number of jobs. The others are summed. 0 means no limit.")
}

// ExporterConfig returns the configuration of an exporter of these metrics.
func (f *Flags) ExporterConfig() exporter.Config {
	cfg := exporter.Config{Collectors: map[string]bool{}, Compat: f.Compat, Limits: f.Limits, MaxScrapes: f.MaxScrapes,
		NativeHistograms: f.NativeHistograms}
	for name, on := range f.collectors {
		cfg.Collectors[name] = *on
	}
	return cfg
}

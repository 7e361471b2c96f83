package exporter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promcollectors "github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/common/model"

	"github.com/slurmtide/slurmtide/exporter/collector"
	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// Source provides snapshots; slurmclient.Cache implements it.
type Source interface {
	// Snapshot returns the newest snapshot. It is never nil and does not block.
	Snapshot() *slurmclient.Snapshot
	// Next blocks until there is a snapshot whose sequence is greater than after, or ctx ends.
	Next(ctx context.Context, after uint64) (*slurmclient.Snapshot, error)
}

// Config configures an Exporter. The zero value enables the default native collectors without
// limits.
type Config struct {
	// Collectors enables or disables native collectors by name; others keep their default.
	Collectors map[string]bool
	// Compat lists the sets of other exporters' names to show in addition.
	Compat []exposition.Set
	Limits tally.Limits
	// ClientMetrics are the metrics of the slurmrestd client; nil for none.
	ClientMetrics *ClientMetrics
	// TokenExpiry returns when the token in use expires, zero if unknown. It may be nil.
	TokenExpiry func() time.Time
	// Labels are added to every sample, before its own labels. If a sample has a label with the same name, the sample's
	// label gets the prefix slurm_.
	Labels map[string]string
	// RenderAhead is how long after a scrape new snapshots are rendered immediately, so that
	// the next scrape does not wait. Afterwards a snapshot is rendered when it is scraped.
	// 0 means DefaultRenderAhead; a negative value disables rendering ahead.
	RenderAhead time.Duration
	// MaxScrapes is the maximum number of concurrent scrapes; 0 means no limit.
	MaxScrapes int
	// NativeHistograms offers protobuf, which contains native histograms, to servers that prefer it. Some of these servers
	// then read only the native buckets.
	NativeHistograms bool
	// Demand computes the demand of a snapshot. It may cache results and is called from
	// several goroutines. If it is nil, the Exporter computes the demand without NodeSets.
	Demand func(now time.Time, s *slurmclient.Snapshot) (demand.Demand, error)
	// OnPanic is called with the error of each computation that panicked;
	// slurmclient.PanicOf returns the stack. It may be nil and must not block.
	OnPanic func(error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Exporter renders snapshots and serves them.
type Exporter struct {
	cfg        Config
	source     Source
	collectors []exposition.Collector
	labels     exposition.ConstLabels
	histories  map[string]exposition.History // by the name of the collector
	panics     *exposition.PanicCounter
	pages      *exposition.PageCache
	// exporterRegistry has the metrics of polling and rendering, clientRegistry has the metrics of requests to slurmrestd,
	// and processRegistry has the metrics of this program.
	exporterRegistry, clientRegistry, processRegistry *prometheus.Registry
	limiter                                           exposition.ScrapeLimiter
}

// New returns an Exporter. It returns an error if cfg names an unknown collector or set, or an
// invalid label.
func New(source Source, cfg Config) (*Exporter, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	chosen, err := chooseCollectors(cfg)
	if err != nil {
		return nil, err
	}
	for name := range cfg.Labels {
		if !model.LegacyValidation.IsValidLabelName(name) {
			return nil, fmt.Errorf("%q is not a valid label name", name)
		}
	}
	e := &Exporter{
		cfg: cfg, source: source, collectors: chosen, labels: exposition.NewConstLabels(cfg.Labels),
		histories:        map[string]exposition.History{},
		panics:           exposition.NewPanicCounter(cfg.OnPanic),
		exporterRegistry: prometheus.NewRegistry(), clientRegistry: prometheus.NewRegistry(),
		processRegistry: prometheus.NewRegistry(),
		limiter:         exposition.NewScrapeLimiter(cfg.MaxScrapes),
	}
	for _, c := range chosen {
		if c.NewHistory != nil {
			e.histories[c.Name] = c.NewHistory()
		}
	}
	e.pages = exposition.NewPageCache(cfg.Now, cfg.RenderAhead, e.newRenderer)
	e.exporterRegistry.MustRegister(newExporterMetrics(e))
	e.processRegistry.MustRegister(
		version.NewCollector("slurm_exporter"),
		promcollectors.NewGoCollector(),
		promcollectors.NewProcessCollector(promcollectors.ProcessCollectorOpts{}),
	)
	if cfg.ClientMetrics != nil {
		e.clientRegistry.MustRegister(cfg.ClientMetrics)
	}
	return e, nil
}

func (e *Exporter) newRenderer() *exposition.Renderer {
	compute := e.cfg.Demand
	if compute == nil {
		compute = exposition.CachedDemand()
	}
	return &exposition.Renderer{
		Collectors: e.collectors,
		Labels:     e.labels, Histories: e.histories, Panics: e.panics,
		Views: exposition.ViewCache{Limits: e.cfg.Limits, Panics: e.panics, Compute: compute},
	}
}

func chooseCollectors(cfg Config) ([]exposition.Collector, error) {
	all := collector.All()
	known := map[string]bool{}
	var out []exposition.Collector
	for _, c := range all {
		on := !c.OptIn
		if c.Set == exposition.Native {
			known[c.Name] = true
			if enabled, ok := cfg.Collectors[c.Name]; ok {
				on = enabled
			}
		} else {
			on = slices.Contains(cfg.Compat, c.Set)
		}
		if on {
			out = append(out, c)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Collectors)) {
		if !known[name] {
			return nil, fmt.Errorf("unknown collector %q; known are %s", name,
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	for _, s := range cfg.Compat {
		if !slices.Contains(collector.Sets(), s) {
			return nil, fmt.Errorf("unknown compatibility set %q; known are %v", s, collector.Sets())
		}
	}
	return out, nil
}

// Resources returns the resources that the enabled collectors and slurm_up read. A cache need
// not poll any other.
func (e *Exporter) Resources() []slurmclient.Resource { return neededResources(e.collectors) }

// Resources returns the resources that an Exporter of this configuration reads.
func (cfg Config) Resources() ([]slurmclient.Resource, error) {
	chosen, err := chooseCollectors(cfg)
	return neededResources(chosen), err
}

func neededResources(chosen []exposition.Collector) []slurmclient.Resource {
	want := coreResources()
	for _, c := range chosen {
		want = append(want, c.Needs...)
	}
	return slices.DeleteFunc(append(slurmclient.Resources(), slurmclient.OptionalResources()...),
		func(r slurmclient.Resource) bool { return !slices.Contains(want, r) })
}

// Run processes every snapshot until ctx ends: it records how jobs changed since the previous
// one, and renders the snapshot if there was a recent scrape. Scrapes before the first snapshot
// show only metrics of the exporter itself.
func (e *Exporter) Run(ctx context.Context) {
	var after uint64
	for {
		s, err := e.source.Next(ctx, after)
		if err != nil {
			return
		}
		after = s.Sequence
		e.recordSnapshot(s)
		e.pages.SetSnapshot(s)
	}
}

// recordSnapshot adds a snapshot to the histories.
func (e *Exporter) recordSnapshot(s *slurmclient.Snapshot) {
	for name, h := range e.histories {
		e.panics.Guard(exposition.StageObserve, name, func() { h.Record(s) })
	}
}

package exporter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promcollectors "github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/common/model"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// Source is where snapshots come from; a slurmclient.Cache is one.
type Source interface {
	// Snapshot returns the newest snapshot, never nil, without blocking.
	Snapshot() *slurmclient.Snapshot
	// Next waits for a snapshot whose sequence is greater than after.
	Next(ctx context.Context, after uint64) (*slurmclient.Snapshot, error)
}

// Config says what an Exporter shows. The zero value shows the native collectors
// that are on by default, without limits.
type Config struct {
	// Collectors switches native collectors by name; those not named keep their default.
	Collectors map[string]bool
	// Compat lists the sets of other exporters' names to show as well.
	Compat []Set
	Limits Limits
	// Requests are the metrics of the client, nil for none.
	Requests *Requests
	// TokenExpiry tells when the token in use ends, zero for unknown; may be nil.
	TokenExpiry func() time.Time
	// Labels are put on every sample, before its own labels. One of its own that has
	// the same name is shown with the prefix slurm_.
	Labels map[string]string
	// RenderAhead is for how long after a scrape every new snapshot is rendered at
	// once, so that the next scrape need not wait; later ones are when they are asked
	// for. 0 means DefaultRenderAhead; below 0 nothing is rendered unasked.
	RenderAhead time.Duration
	// MaxScrapes is how many scrapes are served at a time, 0 for any number.
	MaxScrapes int
	// Demand computes the demand that a snapshot shows, of which it may remember what it
	// computed; it is called from several goroutines. nil: the Exporter computes it
	// of the snapshot alone, without NodeSets.
	Demand func(now time.Time, s *slurmclient.Snapshot) (demand.Demand, error)
	// Failed is told of each computation that panicked; slurmclient.PanicOf finds the
	// stack. It may be nil, and must not block.
	Failed func(error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Exporter renders snapshots and serves them.
type Exporter struct {
	cfg        Config
	source     Source
	collectors []collector
	labels     constLabels
	observed   *observed
	panics     *panics
	pages      *pages
	// own is about Slurm's polling, requests about those to slurmrestd, process about
	// this program.
	own, requests, process *prometheus.Registry
	slots                  slots
}

// New returns an Exporter, or an error that names a collector, a set or a label
// that can not be.
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
			return nil, fmt.Errorf("%q can not be the name of a label", name)
		}
	}
	e := &Exporter{
		cfg: cfg, source: source, collectors: chosen, labels: newConstLabels(cfg.Labels), observed: newObserved(), panics: newPanics(cfg.Failed),
		own: prometheus.NewRegistry(), requests: prometheus.NewRegistry(), process: prometheus.NewRegistry(),
		slots: newSlots(cfg.MaxScrapes),
	}
	e.pages = newPages(cfg, e.newRenderer)
	e.own.MustRegister(newSelf(e))
	e.process.MustRegister(
		version.NewCollector("slurm_exporter"),
		promcollectors.NewGoCollector(),
		promcollectors.NewProcessCollector(promcollectors.ProcessCollectorOpts{}),
	)
	if cfg.Requests != nil {
		e.requests.MustRegister(cfg.Requests)
	}
	return e, nil
}

func (e *Exporter) newRenderer() *renderer {
	compute := e.cfg.Demand
	if compute == nil {
		compute = demandOfAll()
	}
	return &renderer{
		collectors: e.collectors, labels: e.labels, packer: newPacker(), observed: e.observed, panics: e.panics,
		viewer: viewer{limits: e.cfg.Limits, panics: e.panics, compute: compute},
	}
}

func chooseCollectors(cfg Config) ([]collector, error) {
	all := collectors()
	known := map[string]bool{}
	var out []collector
	for _, c := range all {
		on := !c.off
		if c.set == Native {
			known[c.name] = true
			if wish, ok := cfg.Collectors[c.name]; ok {
				on = wish
			}
		} else {
			on = slices.Contains(cfg.Compat, c.set)
		}
		if on {
			out = append(out, c)
		}
	}
	for _, name := range sorted(cfg.Collectors) {
		if !known[name] {
			return nil, fmt.Errorf("there is no collector %q, only %s", name, strings.Join(sorted(known), ", "))
		}
	}
	for _, s := range cfg.Compat {
		if !slices.Contains(Sets(), s) {
			return nil, fmt.Errorf("there is no compatibility set %q, only %v", s, Sets())
		}
	}
	return out, nil
}

// Resources returns what the chosen collectors, and slurm_up, read; a cache need
// not poll anything else.
func (e *Exporter) Resources() []slurmclient.Resource { return needs(e.collectors) }

// Resources returns what an Exporter of this configuration reads.
func (cfg Config) Resources() ([]slurmclient.Resource, error) {
	chosen, err := chooseCollectors(cfg)
	return needs(chosen), err
}

func needs(chosen []collector) []slurmclient.Resource {
	want := core()
	for _, c := range chosen {
		want = append(want, c.needs...)
	}
	return slices.DeleteFunc(append(slurmclient.Resources(), slurmclient.Conf), func(r slurmclient.Resource) bool { return !slices.Contains(want, r) })
}

// Run takes every snapshot until ctx ends: it notes what has changed since the one
// before, and renders it where somebody has scraped of late. Scrapes before the first
// snapshot show only how the exporter itself fares.
func (e *Exporter) Run(ctx context.Context) {
	var after uint64
	for {
		s, err := e.source.Next(ctx, after)
		if err != nil {
			return
		}
		after = s.Sequence
		e.panics.guard(stageObserve, "jobs", func() { e.observed.see(s) })
		e.pages.take(s)
	}
}

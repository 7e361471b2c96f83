package exporter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promcollectors "github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/collectors/version"

	"github.com/slurmtide/slurmtide/slurmclient"
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
	// MaxScrapes is how many scrapes are served at a time, 0 for any number.
	MaxScrapes int
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Exporter renders snapshots and serves them.
type Exporter struct {
	cfg        Config
	source     Source
	collectors []collector
	page       atomic.Pointer[page]
	// own is about Slurm's polling, process about this program.
	own, process *prometheus.Registry
	slots        chan struct{}
}

// New returns an Exporter, or an error that names a collector or set that does
// not exist.
func New(source Source, cfg Config) (*Exporter, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	chosen, err := chooseCollectors(cfg)
	if err != nil {
		return nil, err
	}
	e := &Exporter{cfg: cfg, source: source, collectors: chosen, own: prometheus.NewRegistry(), process: prometheus.NewRegistry()}
	if cfg.MaxScrapes > 0 {
		e.slots = make(chan struct{}, cfg.MaxScrapes)
	}
	e.own.MustRegister(newSelf(e))
	e.process.MustRegister(
		version.NewCollector("slurm_exporter"),
		promcollectors.NewGoCollector(),
		promcollectors.NewProcessCollector(promcollectors.ProcessCollectorOpts{}),
	)
	if cfg.Requests != nil {
		e.process.MustRegister(cfg.Requests)
	}
	return e, nil
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
	return slices.DeleteFunc(slurmclient.Resources(), func(r slurmclient.Resource) bool { return !slices.Contains(want, r) })
}

// Run renders every snapshot until ctx ends. Scrapes before the first show only
// how the exporter itself fares.
func (e *Exporter) Run(ctx context.Context) {
	seen := newObserved()
	r := &renderer{collectors: e.collectors, viewer: viewer{limits: e.cfg.Limits}, packer: newPacker(), observed: seen}
	var after uint64
	for {
		s, err := e.source.Next(ctx, after)
		if err != nil {
			return
		}
		after = s.Sequence
		seen.see(s)
		e.page.Store(r.render(e.cfg.Now(), s))
	}
}

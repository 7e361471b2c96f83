package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/exporter-toolkit/web"

	"github.com/slurmtide/slurmtide/exporter"
	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// exposition shows the metrics of every cluster on one page.
type exposition struct {
	cfg       exporter.Config
	path      string
	resources []slurmclient.Resource
	process   *prometheus.Registry
	slots     chan struct{}
	log       logger

	mu    sync.Mutex
	shown []shownCluster // sorted by label
}

// shownCluster is a cluster with the value of its label.
type shownCluster struct {
	key      access.Key
	label    string
	exporter *exporter.Exporter
}

func newExposition(o *options, log logger) *exposition {
	e := &exposition{
		cfg:     exporter.Config{Collectors: map[string]bool{}, Compat: o.compat, Limits: o.limits},
		path:    "/" + strings.Trim(o.metricsPath, "/"),
		process: prometheus.NewRegistry(), log: log,
	}
	for name, on := range o.collectors {
		e.cfg.Collectors[name] = *on
	}
	if o.maxScrapes > 0 {
		e.slots = make(chan struct{}, o.maxScrapes)
	}
	// The flags name only collectors that exist. What the demand is computed of is
	// polled in any case.
	shown, _ := e.cfg.Resources()
	e.resources = slices.DeleteFunc(slurmclient.Resources(), func(r slurmclient.Resource) bool {
		needed := []slurmclient.Resource{slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions, slurmclient.Reservations, slurmclient.Stats, slurmclient.Pings, slurmclient.QOS}
		return !slices.Contains(shown, r) && !slices.Contains(needed, r)
	})
	e.process.MustRegister(
		versioncollector.NewCollector("slurm_metrics_adapter"),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return e
}

// show has the cluster on the page until ctx ends.
func (e *exposition) show(ctx context.Context, key access.Key, cache *slurmclient.Cache, requests *exporter.Requests, token slurmclient.TokenSource) {
	cfg := e.cfg
	cfg.Requests = requests
	if token != nil {
		cfg.TokenExpiry = token.Expiry
	}
	exp, err := exporter.New(cache, cfg)
	if err != nil {
		e.log.Error("showing a cluster", "cluster", key, "err", err)
		return
	}
	e.add(key, exp)
	defer e.remove(exp)
	exp.Run(ctx)
}

func (e *exposition) add(key access.Key, exp *exporter.Exporter) {
	e.mu.Lock()
	defer e.mu.Unlock()
	label := key.String()
	if slices.ContainsFunc(e.shown, func(c shownCluster) bool { return c.label == label }) {
		label += " (" + key.Kind + ")" // a Controller and a Cluster may have the same name
	}
	e.shown = append(slices.Clone(e.shown), shownCluster{key, label, exp})
	slices.SortFunc(e.shown, func(a, b shownCluster) int { return cmp.Compare(a.label, b.label) })
}

func (e *exposition) remove(exp *exporter.Exporter) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown = slices.DeleteFunc(slices.Clone(e.shown), func(c shownCluster) bool { return c.exporter == exp })
}

func (e *exposition) clusters() []shownCluster {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shown
}

// routes serves the pages; settled tells why they are not complete yet.
func (e *exposition) routes(settled func() error) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+e.path, e.metrics(exporter.Native))
	for _, set := range e.cfg.Compat {
		mux.Handle("GET "+e.path+"/"+string(set), e.metrics(set))
	}
	mux.Handle("GET /-/healthy", exporter.Healthy())
	mux.HandleFunc("GET /-/ready", func(w http.ResponseWriter, _ *http.Request) {
		if err := settled(); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ready")
	})
	if e.path != "/" {
		mux.HandleFunc("GET /{$}", e.landing)
	}
	return mux
}

func (e *exposition) landing(w http.ResponseWriter, r *http.Request) {
	var names []string
	for _, c := range e.clusters() {
		names = append(names, c.label)
	}
	page, err := web.NewLandingPage(web.LandingConfig{
		Name: "Slurm metrics adapter", Description: "Slurm clusters: " + cmp.Or(strings.Join(names, ", "), "none yet"),
		Links: []web.LandingLinks{{Address: e.path, Text: "Metrics"}},
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	page.ServeHTTP(w, r)
}

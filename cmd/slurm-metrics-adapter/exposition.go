package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/exporter-toolkit/web"

	"github.com/slurmtide/slurmtide/exporter"
	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// exposition shows the metrics of every cluster on one page, and those of NodeSets and
// of the program.
type exposition struct {
	cfg       exporter.Config
	path      string
	resources []slurmclient.Resource
	joint     *exporter.Joint
	own       *prometheus.Registry // what the page has beside the clusters
	reactions *metricsapi.Reactions
	log       logger

	mu    sync.Mutex
	shown []shownCluster // sorted by label
}

// shownCluster is a cluster with the value of its label.
type shownCluster struct {
	label    string
	exporter *exporter.Exporter
}

func newExposition(o *options, log logger) *exposition {
	e := &exposition{
		cfg:  exporter.Config{Collectors: map[string]bool{}, Compat: o.compat, Limits: o.limits},
		path: "/" + strings.Trim(o.metricsPath, "/"), log: log,
		own: prometheus.NewRegistry(), reactions: metricsapi.NewReactions(),
	}
	for name, on := range o.collectors {
		e.cfg.Collectors[name] = *on
	}
	// The flags name only collectors that exist. What the demand is computed of is
	// polled in any case.
	shown, _ := e.cfg.Resources()
	needed := append(demand.Resources(), slurmclient.Pings, slurmclient.Stats)
	e.resources = slices.DeleteFunc(append(slurmclient.Resources(), slurmclient.Conf), func(r slurmclient.Resource) bool {
		return !slices.Contains(shown, r) && !slices.Contains(needed, r)
	})
	e.own.MustRegister(
		versioncollector.NewCollector("slurm_metrics_adapter"),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), e.reactions,
	)
	e.joint = exporter.NewJoint(e.exporters, e.own, o.maxScrapes)
	return e
}

// showNodeSets has the NodeSets on the page from now on. It is called once.
func (e *exposition) showNodeSets(nodeSets metricsapi.NodeSetLister, maxAge time.Duration) {
	e.own.MustRegister(metricsapi.NewNodeSetMetrics(nodeSets, metricsapi.Config{MaxAge: maxAge}))
}

// show has the cluster on the page until ctx ends.
func (e *exposition) show(ctx context.Context, key access.Key, cache *slurmclient.Cache, requests *exporter.Requests, token slurmclient.TokenSource) {
	cfg := e.cfg
	cfg.Requests = requests
	if token != nil {
		cfg.TokenExpiry = token.Expiry
	}
	exp, err := e.add(key, cache, cfg)
	if err != nil {
		e.log.Error("showing a cluster", "cluster", key, "err", err)
		return
	}
	defer e.remove(exp)
	exp.Run(ctx)
}

// add makes an exporter whose samples have the label of the cluster.
func (e *exposition) add(key access.Key, cache *slurmclient.Cache, cfg exporter.Config) (*exporter.Exporter, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	label := key.String()
	if slices.ContainsFunc(e.shown, func(c shownCluster) bool { return c.label == label }) {
		label += " (" + key.Kind + ")" // a Controller and a Cluster may have the same name
	}
	cfg.Labels = map[string]string{"cluster": label}
	exp, err := exporter.New(cache, cfg)
	if err != nil {
		return nil, err
	}
	e.shown = append(slices.Clone(e.shown), shownCluster{label, exp})
	slices.SortFunc(e.shown, func(a, b shownCluster) int { return cmp.Compare(a.label, b.label) })
	return exp, nil
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

func (e *exposition) exporters() []*exporter.Exporter {
	var out []*exporter.Exporter
	for _, c := range e.clusters() {
		out = append(out, c.exporter)
	}
	return out
}

// routes serves the pages; settled tells why they are not complete yet.
func (e *exposition) routes(settled func() error) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+e.path, e.joint.Metrics(exporter.Native))
	for _, set := range e.cfg.Compat {
		mux.Handle("GET "+e.path+"/"+string(set), e.joint.Metrics(set))
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

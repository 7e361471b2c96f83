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

	"github.com/slurmtide/slurmtide/cmd/internal/polls"
	"github.com/slurmtide/slurmtide/exporter"
	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/metricsapi/clusters"
	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// exposition serves the metrics of all clusters, of the NodeSets and of the program on one page.
type exposition struct {
	cfg       exporter.Config
	path      string
	resources []slurmclient.Resource
	joint     *exporter.Joint
	own       *prometheus.Registry // metrics of the program and of NodeSets
	reactions *metricsapi.Reactions
	panics    *prometheus.CounterVec
	log       logger
	stacks    *polls.Stacks
	// listKnown lists the existing clusters. It may be nil.
	known func() []access.Key

	mu    sync.Mutex
	shown []shownCluster // sorted by label
}

// shownCluster is a cluster on the page with the value of its label.
type shownCluster struct {
	key      access.Key
	label    string
	exporter *exporter.Exporter
}

func newExposition(o *options, log logger) *exposition {
	e := &exposition{
		cfg:  exporter.Config{Collectors: map[string]bool{}, Compat: o.compat, Limits: o.limits},
		path: "/" + strings.Trim(o.metricsPath, "/"), log: log,
		own: prometheus.NewRegistry(), reactions: metricsapi.NewReactions(), stacks: polls.NewStacks(log),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slurm_metrics_adapter_panics_total",
			Help: "Panics while computing the data of a cluster: its metrics for HPAs (demand) or its objects (view).",
		}, []string{"cluster", "part"}),
	}
	for name, on := range o.collectors {
		e.cfg.Collectors[name] = *on
	}
	// Resources cannot fail: there is a flag only for each existing collector. Demand always needs its
	// own resources.
	shown, _ := e.cfg.Resources()
	needed := append(demand.Resources(), slurmclient.Pings, slurmclient.Stats)
	e.resources = slices.DeleteFunc(append(slurmclient.Resources(), slurmclient.Conf),
		func(r slurmclient.Resource) bool {
			return !slices.Contains(shown, r) && !slices.Contains(needed, r)
		})
	e.own.MustRegister(
		versioncollector.NewCollector("slurm_metrics_adapter"),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), e.reactions,
		e.panics,
	)
	e.joint = exporter.NewJoint(e.members, e.own, o.maxScrapes)
	return e
}

// showNodeSets adds the NodeSets to the page. Call it once.
func (e *exposition) showNodeSets(nodeSets metricsapi.NodeSetLister, maxAge time.Duration) {
	e.own.MustRegister(metricsapi.NewNodeSetMetrics(nodeSets, metricsapi.Config{MaxAge: maxAge}))
}

// showClusters adds slurm_up for every existing cluster to the page, also for clusters without a
// connection. Call it once.
func (e *exposition) showClusters(registry *clusters.Registry) {
	e.known = func() []access.Key {
		all, _ := registry.Shown() // empty until the first list
		var keys []access.Key
		for _, c := range all {
			keys = append(keys, c.Key)
		}
		return keys
	}
}

// recordPanic counts and logs a panic while computing the data of a cluster.
func (e *exposition) panicked(cluster, part string, err error) {
	e.panics.WithLabelValues(cluster, part).Inc()
	e.stacks.Log(err, "cluster", cluster, "what", part)
}

// showCluster shows the cluster on the page until ctx ends.
func (e *exposition) show(ctx context.Context, key access.Key, to clusters.Connected, requests *exporter.Requests) {
	for _, part := range []string{"demand", "view"} {
		e.panics.WithLabelValues(key.String(), part) // 0, not absent
	}
	cfg := e.cfg
	cfg.Requests, cfg.Demand = requests, to.Demand
	cfg.Failed = func(err error) { e.stacks.Log(err, "cluster", key.String()) }
	if to.Token != nil {
		cfg.TokenExpiry = to.Token.Expiry
	}
	exp, err := e.add(key, to.Cache, cfg)
	if err != nil {
		e.log.Error("showing a cluster", "cluster", key, "err", err)
		return
	}
	defer e.remove(exp)
	exp.Run(ctx)
}

// addExporter adds an exporter whose samples have the label of the cluster.
func (e *exposition) add(key access.Key, cache *slurmclient.Cache, cfg exporter.Config) (*exporter.Exporter, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	taken := map[string]bool{}
	for _, c := range e.shown {
		taken[c.label] = true
	}
	label := labelOf(key, taken)
	cfg.Labels = map[string]string{"cluster": label}
	exp, err := exporter.New(cache, cfg)
	if err != nil {
		return nil, err
	}
	e.shown = append(slices.Clone(e.shown), shownCluster{key, label, exp})
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

// members returns the clusters of the page.
func (e *exposition) members() exporter.Members {
	var out exporter.Members
	there, labels := map[access.Key]bool{}, map[string]bool{}
	for _, c := range e.clusters() {
		out.Exporters = append(out.Exporters, c.exporter)
		there[c.key], labels[c.label] = true, true
	}
	if e.known == nil {
		return out
	}
	for _, key := range e.known() {
		if label := labelOf(key, labels); !there[key] {
			labels[label] = true
			out.Absent = append(out.Absent, map[string]string{"cluster": label})
		}
	}
	return out
}

// clusterLabel returns the label value of a cluster. A Controller and a Cluster may have the same
// name.
func labelOf(key access.Key, taken map[string]bool) string {
	if label := key.String(); !taken[label] {
		return label
	}
	return key.String() + " (" + key.Kind + ")"
}

// routes returns the HTTP handler. settled returns why the pages are not complete yet.
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

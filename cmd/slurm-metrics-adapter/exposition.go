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

	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/cmd/internal/polls"
	"github.com/slurmtide/slurmtide/exporter"
	metricset "github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/metricsapi/clusters"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// exposition serves the metrics of all clusters, of the NodeSets and of the program on one page.
type exposition struct {
	cfg             exporter.Config
	path            string
	resources       []slurmclient.Resource
	union           *exporter.Union
	programRegistry *prometheus.Registry // metrics of the program and of NodeSets
	observers       []clusters.ReadingObserver
	panics          *prometheus.CounterVec
	log             lines.Logger
	panicLog        *polls.PanicLog
	// listKnown lists the existing clusters. It may be nil.
	listKnown func() []refs.ClusterKey

	mu            sync.Mutex
	shownClusters []shownCluster // sorted by label
}

// shownCluster is a cluster on the page with the value of its label.
type shownCluster struct {
	key      refs.ClusterKey
	label    string
	exporter *exporter.Exporter
}

func newExposition(o *options, log lines.Logger) *exposition {
	e := &exposition{
		cfg:  o.metrics.ExporterConfig(),
		path: "/" + strings.Trim(o.metrics.Path, "/"), log: log,
		programRegistry: prometheus.NewRegistry(),
		panicLog:        polls.NewPanicLog(log),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slurm_metrics_adapter_panics_total",
			Help: "Panics while computing the data of a cluster: its metrics for HPAs (demand) or its objects (view).",
		}, []string{"cluster", "part"}),
	}
	reactions, times := metricsapi.NewReactionTimes(), metricsapi.NewNodeSetTime()
	e.observers = []clusters.ReadingObserver{reactions, times}
	e.cfg.MaxScrapes = 0 // the union limits the scrapes of all clusters
	// Resources cannot fail: there is a flag only for each existing collector. Demand always needs its
	// own resources.
	shown, _ := e.cfg.Resources()
	needed := append(demand.Resources(), slurmclient.Pings, slurmclient.Stats)
	e.resources = slices.DeleteFunc(append(slurmclient.Resources(), slurmclient.OptionalResources()...),
		func(r slurmclient.Resource) bool {
			return !slices.Contains(shown, r) && !slices.Contains(needed, r)
		})
	e.programRegistry.MustRegister(
		versioncollector.NewCollector("slurm_metrics_adapter"),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), reactions, times,
		e.panics,
	)
	e.union = exporter.NewUnion(e.members, e.programRegistry, o.metrics.ExporterConfig())
	return e
}

// showNodeSets adds the NodeSets to the page. Call it once.
func (e *exposition) showNodeSets(nodeSets metricsapi.NodeSetLister, maxAge time.Duration) {
	e.programRegistry.MustRegister(metricsapi.NewNodeSetMetrics(nodeSets, metricsapi.Config{MaxAge: maxAge}))
}

// showClusters adds slurm_up for every existing cluster to the page, also for clusters without a
// connection. Call it once.
func (e *exposition) showClusters(registry *clusters.Registry) {
	e.listKnown = func() []refs.ClusterKey {
		all, _ := registry.List() // empty until the first list
		var keys []refs.ClusterKey
		for _, c := range all {
			keys = append(keys, c.Key)
		}
		return keys
	}
}

// recordPanic counts and logs a panic while computing the data of a cluster.
func (e *exposition) recordPanic(cluster, part string, err error) {
	e.panics.WithLabelValues(cluster, part).Inc()
	e.panicLog.Log(err, "cluster", cluster, "what", part)
}

// showCluster shows the cluster on the page until ctx ends.
func (e *exposition) showCluster(ctx context.Context, key refs.ClusterKey, to clusters.Connected,
	requests *exporter.ClientMetrics) {
	for _, part := range []string{"demand", "view"} {
		e.panics.WithLabelValues(key.String(), part) // 0, not absent
	}
	cfg := e.cfg
	cfg.ClientMetrics, cfg.Demand = requests, to.Demand
	cfg.OnPanic = func(err error) { e.panicLog.Log(err, "cluster", key.String()) }
	if to.Token != nil {
		cfg.TokenExpiry = to.Token.Expiry
	}
	exp, err := e.addExporter(key, to.Cache, cfg)
	if err != nil {
		e.log.Error("showing a cluster", "cluster", key, "err", err)
		return
	}
	defer e.removeExporter(exp)
	exp.Run(ctx)
}

// addExporter adds an exporter whose samples have the label of the cluster.
func (e *exposition) addExporter(key refs.ClusterKey, cache *slurmclient.Cache, cfg exporter.Config) (
	*exporter.Exporter, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	taken := map[string]bool{}
	for _, c := range e.shownClusters {
		taken[c.label] = true
	}
	label := clusterLabel(key, taken)
	cfg.Labels = map[string]string{"cluster": label}
	exp, err := exporter.New(cache, cfg)
	if err != nil {
		return nil, err
	}
	e.shownClusters = append(slices.Clone(e.shownClusters), shownCluster{key, label, exp})
	slices.SortFunc(e.shownClusters, func(a, b shownCluster) int { return cmp.Compare(a.label, b.label) })
	return exp, nil
}

func (e *exposition) removeExporter(exp *exporter.Exporter) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shownClusters = slices.DeleteFunc(slices.Clone(e.shownClusters),
		func(c shownCluster) bool { return c.exporter == exp })
}

func (e *exposition) clusters() []shownCluster {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shownClusters
}

// members returns the clusters of the page.
func (e *exposition) members() exporter.Members {
	var out exporter.Members
	there, labels := map[refs.ClusterKey]bool{}, map[string]bool{}
	for _, c := range e.clusters() {
		out.Exporters = append(out.Exporters, c.exporter)
		there[c.key], labels[c.label] = true, true
	}
	if e.listKnown == nil {
		return out
	}
	for _, key := range e.listKnown() {
		if label := clusterLabel(key, labels); !there[key] {
			labels[label] = true
			out.Unreachable = append(out.Unreachable, map[string]string{"cluster": label})
		}
	}
	return out
}

// clusterLabel returns the label value of a cluster. A Controller and a Cluster may have the same
// name.
func clusterLabel(key refs.ClusterKey, taken map[string]bool) string {
	if label := key.String(); !taken[label] {
		return label
	}
	return key.String() + " (" + key.Kind + ")"
}

// routes returns the HTTP handler. settled returns the reason why the pages are not complete yet.
func (e *exposition) routes(settled func() error) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+e.path, e.union.Metrics(metricset.Native))
	for _, set := range e.cfg.Compat {
		mux.Handle("GET "+e.path+"/"+string(set), e.union.Metrics(set))
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

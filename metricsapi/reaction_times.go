package metricsapi

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/operator/refs"
)

// ReactionTimes measures how soon NodeSets are scaled out: the time from the first reading with
// more required nodes than spec.replicas until spec.replicas is sufficient. A shortage does not
// count if it ends because fewer nodes are required, or if it existed at the first reading of the
// cluster. ReactionTimes is a prometheus.Collector and a clusters.ReadingObserver. Each replica
// of the adapter measures on its own.
type ReactionTimes struct {
	took  *prometheus.HistogramVec
	since *prometheus.Desc

	mu       sync.Mutex
	clusters map[refs.ClusterKey]map[string]shortage // by the name of the pool
}

var _ prometheus.Collector = (*ReactionTimes)(nil)

const (
	reactionHelp = "Time during which the NodeSet required more workers than spec.replicas, until spec.replicas " +
		"was raised to the required number."
	shortSinceHelp = "Since when the NodeSet requires more workers than spec.replicas, in Unix time; no sample if " +
		"it does not, or if it already did when the adapter started."
)

// reactionBuckets range from a tenth of a second to an hour.
var reactionBuckets = []float64{.1, .25, .5, 1, 2.5, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1800, 3600}

// NewReactionTimes returns ReactionTimes without observations.
func NewReactionTimes() *ReactionTimes {
	return &ReactionTimes{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "slurm_nodeset_reaction_seconds", Help: reactionHelp, Buckets: reactionBuckets,
		}, nodeSetLabels()),
		since:    prometheus.NewDesc("slurm_nodeset_short_since_time_seconds", shortSinceHelp, nodeSetLabels(), nil),
		clusters: map[refs.ClusterKey]map[string]shortage{},
	}
}

// shortage is whether a NodeSet has too few replicas. The zero value is a NodeSet with enough replicas.
type shortage struct {
	// short is true if more workers are required than spec.replicas.
	short bool
	// since is when the shortage began, zero if unknown.
	since time.Time
	// replicas is spec.replicas at that time.
	replicas uint64
}

// next returns the shortage at now. If spec.replicas was raised to the required number and it
// is known when the shortage began, given is true and took is how long it lasted.
func (s shortage) next(now time.Time, required, replicas uint64) (_ shortage, took time.Duration, given bool) {
	switch {
	case required > replicas && s.short:
		return s, 0, false
	case required > replicas:
		return shortage{true, now, replicas}, 0, false
	case s.short && replicas > s.replicas && !s.since.IsZero():
		return shortage{}, max(0, now.Sub(s.since)), true
	}
	return shortage{}, 0, false
}

// ObserveReading records a reading of the cluster. Readings must be in order. It does not block.
func (m *ReactionTimes) ObserveReading(cluster refs.ClusterKey, now time.Time, r *Reading) {
	if !r.Known() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before, seenBefore := m.clusters[cluster]
	after := map[string]shortage{}
	for name, at := range r.poolIndex {
		required, replicas := r.demand.Pools[at].Required, r.pools[at].Replicas
		next, took, given := before[name].next(now, required, replicas)
		if !seenBefore {
			next.since = time.Time{}
		}
		after[name] = next
		series := m.took.WithLabelValues(nodeSetLabelValues(cluster, name)...)
		if given {
			series.Observe(took.Seconds())
		}
	}
	m.clusters[cluster] = after
	m.dropSeries(cluster, before, after)
}

// ForgetCluster removes the series of a cluster that is no longer read.
func (m *ReactionTimes) ForgetCluster(cluster refs.ClusterKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropSeries(cluster, m.clusters[cluster], nil)
	delete(m.clusters, cluster)
}

// dropSeries removes the series of NodeSets that no longer exist.
func (m *ReactionTimes) dropSeries(cluster refs.ClusterKey, before, after map[string]shortage) {
	for name := range before {
		if _, there := after[name]; !there {
			m.took.DeleteLabelValues(nodeSetLabelValues(cluster, name)...)
		}
	}
}

// nodeSetLabelValues returns the values of nodeSetLabels for a pool of the cluster.
func nodeSetLabelValues(cluster refs.ClusterKey, pool string) []string {
	namespace, name, _ := strings.Cut(pool, "/")
	return []string{cluster.String(), namespace, name}
}

// Describe implements prometheus.Collector.
func (m *ReactionTimes) Describe(out chan<- *prometheus.Desc) {
	m.took.Describe(out)
	out <- m.since
}

// Collect implements prometheus.Collector.
func (m *ReactionTimes) Collect(out chan<- prometheus.Metric) {
	m.took.Collect(out)
	m.mu.Lock()
	defer m.mu.Unlock()
	for cluster, pools := range m.clusters {
		for name, s := range pools {
			if s.short && !s.since.IsZero() {
				out <- prometheus.MustNewConstMetric(m.since, prometheus.GaugeValue, unixSeconds(s.since),
					nodeSetLabelValues(cluster, name)...)
			}
		}
	}
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }

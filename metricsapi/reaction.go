package metricsapi

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/operator/api/access"
)

// Reactions measures how soon NodeSets are given the workers that are required of them:
// the time from the first reading by which more are required than spec.replicas says
// until it says as many. A shortage that ends since less is required does not count,
// nor does one that was there already when the cluster was first read. It is a
// prometheus.Collector and is told of readings by whoever makes them; each replica of
// the adapter measures for itself.
type Reactions struct {
	took  *prometheus.HistogramVec
	since *prometheus.Desc

	mu       sync.Mutex
	clusters map[access.Key]map[string]shortage // by the name of the pool
}

var _ prometheus.Collector = (*Reactions)(nil)

const (
	reactionHelp = "Time for which more workers were required of the NodeSet than its spec.replicas said, until that was raised to as many as were required then."
	sinceHelp    = "Since when more workers are required of the NodeSet than its spec.replicas says, in Unix time; no sample while that is not so, or was so when the adapter started."
)

// reactionBuckets go from an HPA that happens to look just then, to an hour.
var reactionBuckets = []float64{.1, .25, .5, 1, 2.5, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1800, 3600}

// NewReactions returns a Reactions that has seen nothing.
func NewReactions() *Reactions {
	return &Reactions{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "slurm_nodeset_reaction_seconds", Help: reactionHelp, Buckets: reactionBuckets,
		}, nodeSetLabels()),
		since:    prometheus.NewDesc("slurm_nodeset_short_since_time_seconds", sinceHelp, nodeSetLabels(), nil),
		clusters: map[access.Key]map[string]shortage{},
	}
}

// shortage is how a NodeSet stands. The zero value has enough workers.
type shortage struct {
	// short is whether too few are meant to be there.
	short bool
	// since is when that began, zero when that is not known.
	since time.Time
	// replicas is how many were meant to be there then.
	replicas uint64
}

// next is how the NodeSet stands at now, and, when it was just given what it needed and
// it is known since when it needed that, how long that took.
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

// See is told what was read of the cluster, in the order of time. It does not block.
func (m *Reactions) See(cluster access.Key, now time.Time, r *Reading) {
	if !r.Known() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before, seenBefore := m.clusters[cluster]
	after := map[string]shortage{}
	for name, at := range r.pools {
		required, replicas := r.demand.Pools[at].Required, r.offers[at].Running
		next, took, given := before[name].next(now, required, replicas)
		if !seenBefore {
			next.since = time.Time{}
		}
		after[name] = next
		series := m.took.WithLabelValues(labelsOf(cluster, name)...)
		if given {
			series.Observe(took.Seconds())
		}
	}
	m.clusters[cluster] = after
	m.drop(cluster, before, after)
}

// Gone is told that the cluster is not read any more.
func (m *Reactions) Gone(cluster access.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(cluster, m.clusters[cluster], nil)
	delete(m.clusters, cluster)
}

// drop ends the series of the NodeSets that are not there any more.
func (m *Reactions) drop(cluster access.Key, before, after map[string]shortage) {
	for name := range before {
		if _, there := after[name]; !there {
			m.took.DeleteLabelValues(labelsOf(cluster, name)...)
		}
	}
}

// labelsOf are the values of nodeSetLabels for a pool of the cluster.
func labelsOf(cluster access.Key, pool string) []string {
	namespace, name, _ := strings.Cut(pool, "/")
	return []string{cluster.String(), namespace, name}
}

// Describe implements prometheus.Collector.
func (m *Reactions) Describe(out chan<- *prometheus.Desc) {
	m.took.Describe(out)
	out <- m.since
}

// Collect implements prometheus.Collector.
func (m *Reactions) Collect(out chan<- prometheus.Metric) {
	m.took.Collect(out)
	m.mu.Lock()
	defer m.mu.Unlock()
	for cluster, pools := range m.clusters {
		for name, s := range pools {
			if s.short && !s.since.IsZero() {
				out <- prometheus.MustNewConstMetric(m.since, prometheus.GaugeValue, unix(s.since), labelsOf(cluster, name)...)
			}
		}
	}
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }

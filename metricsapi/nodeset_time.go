package metricsapi

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// NodeSetTime counts for how long the nodes of NodeSets were in each state. NodeSetTime is a
// prometheus.Collector and a clusters.ReadingObserver. Each replica of the adapter counts on its own.
type NodeSetTime struct {
	*prometheus.CounterVec

	mu   sync.Mutex
	last map[refs.ClusterKey]*Reading
}

const nodeSetTimeHelp = "Seconds of nodes of the NodeSet by state: busy, idle, booting, unusable or off, as " +
	"slurm_nodeset_busy_nodes and others count them. Each reading counts until the next one; time without a reading for " +
	"more than 2 minutes is unknown and does not count. Each replica of the adapter counts all time: take max over " +
	"them, not sum."

// NewNodeSetTime returns a NodeSetTime without readings.
func NewNodeSetTime() *NodeSetTime {
	return &NodeSetTime{
		CounterVec: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slurm_nodeset_node_seconds_total", Help: nodeSetTimeHelp,
		}, append(nodeSetLabels(), "state")),
		last: map[refs.ClusterKey]*Reading{},
	}
}

// ObserveReading adds the time since the previous reading of the cluster. It does not block.
func (m *NodeSetTime) ObserveReading(cluster refs.ClusterKey, _ time.Time, r *Reading) {
	if r.err != nil || !r.Known() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if last := m.last[cluster]; last != nil {
		m.addSeconds(cluster, last, last.timeUntil(r))
		m.dropSeries(cluster, last, r)
	}
	m.addSeconds(cluster, r, 0) // series of new NodeSets start at 0
	m.last[cluster] = r
}

// timeUntil returns how long the numbers of a reading held until the next reading: 0 if an HPA would
// have got an error at that time.
func (r *Reading) timeUntil(next *Reading) time.Duration {
	if r.checkUsable(next.snapshot.Nodes.ReadAt, DefaultMaxAge) != nil {
		return 0
	}
	return r.snapshot.Nodes.TimeUntil(next.snapshot.Nodes.Poll)
}

// addSeconds adds a time to the states that a reading shows.
func (m *NodeSetTime) addSeconds(cluster refs.ClusterKey, r *Reading, took time.Duration) {
	for name, at := range r.poolIndex {
		for state, nodes := range nodesByState(&r.demand.Pools[at]) {
			m.WithLabelValues(append(nodeSetLabelValues(cluster, name), state)...).Add(float64(nodes) * took.Seconds())
		}
	}
}

func nodesByState(p *demand.PoolDemand) map[string]uint64 {
	return map[string]uint64{"busy": p.Busy, "idle": p.Idle, "booting": p.Booting, "unusable": p.Unusable, "off": p.Off}
}

// dropSeries removes the series of NodeSets that no longer exist.
func (m *NodeSetTime) dropSeries(cluster refs.ClusterKey, before, after *Reading) {
	for name := range before.poolIndex {
		if _, there := after.poolIndex[name]; there {
			continue
		}
		for state := range nodesByState(&demand.PoolDemand{}) {
			m.DeleteLabelValues(append(nodeSetLabelValues(cluster, name), state)...)
		}
	}
}

// ForgetCluster removes the series of a cluster that is no longer read.
func (m *NodeSetTime) ForgetCluster(cluster refs.ClusterKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if last := m.last[cluster]; last != nil {
		m.dropSeries(cluster, last, &Reading{})
		delete(m.last, cluster)
	}
}

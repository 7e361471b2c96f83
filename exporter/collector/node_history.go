package collector

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// NodeHistory counts failures of nodes and how long they were drained. It processes every snapshot, scraped or not. Only one goroutine
// may call Record.
type NodeHistory struct {
	registry *prometheus.Registry
	failures *prometheus.CounterVec
	drains   *prometheus.HistogramVec

	last *slurmclient.Snapshot
	// drained are the drained nodes by name.
	drained map[string]drain
}

// drain is a drain that has not ended.
type drain struct {
	since slurm.Time
	by    string
}

// The values of the label by: the operator, which drains workers before it deletes them, or any other user.
const (
	byOperator     = "slurm-operator"
	byOthers       = "others"
	operatorPrefix = byOperator + ": "
)

// The values of the label state of failures.
const (
	nodeDown          = "down"
	nodeFailed        = "fail"
	nodeNotResponding = "not_responding"
)

// drainBuckets range from one minute to a month.
var drainBuckets = []float64{60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 3 * 24 * 3600, 7 * 24 * 3600, 30 * 24 * 3600}

// NewNodeHistory returns a history without snapshots.
func NewNodeHistory() *NodeHistory {
	o := &NodeHistory{
		registry: prometheus.NewRegistry(),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slurm_node_failures_total",
			Help: "Times that a node which was not drained became down, failed or stopped responding, since the exporter started.",
		}, []string{"state"}),
		drains: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "slurm_node_drain_duration_seconds", Buckets: drainBuckets,
			Help: "How long nodes were drained, for drains that ended since the exporter started, by who drained them: " +
				"slurm-operator or others.",
		}, []string{"by"}),
		drained: map[string]drain{},
	}
	o.registry.MustRegister(o.failures, o.drains)
	return o
}

// addSeries creates all series, so that they start at 0.
func (o *NodeHistory) addSeries() {
	for _, state := range []string{nodeDown, nodeFailed, nodeNotResponding} {
		o.failures.WithLabelValues(state)
	}
	for _, by := range []string{byOperator, byOthers} {
		o.drains.WithLabelValues(by)
	}
}

// Record compares a snapshot with the previous one.
func (o *NodeHistory) Record(s *slurmclient.Snapshot) {
	if !s.Nodes.Known || !tally.HasChanged(o.last, s, slurmclient.Nodes) {
		return
	}
	o.addSeries()
	now := slurm.At(s.Nodes.ReadAt)
	for _, c := range slurmclient.NodeChanges(o.last, s) {
		if c.Old != nil && c.New != nil && !isDrained(c.Old) {
			o.countFailures(c.Old.State, c.New.State)
		}
		o.followDrain(c.Old, c.New, now)
	}
	o.last = s
}

func (o *NodeHistory) countFailures(old, now slurm.NodeState) {
	for state, is := range map[string]func(slurm.NodeState) bool{
		nodeDown:          func(s slurm.NodeState) bool { return s.Base == slurm.NodeDown },
		nodeFailed:        func(s slurm.NodeState) bool { return s.Has(slurm.NodeFail) },
		nodeNotResponding: func(s slurm.NodeState) bool { return s.Has(slurm.NodeNotResponding) },
	} {
		if is(now) && !is(old) {
			o.failures.WithLabelValues(state).Inc()
		}
	}
}

// followDrain records the start of a drain, and counts a drain that has ended. For a drain from before the exporter's start, the start is
// the time when its reason was set.
func (o *NodeHistory) followDrain(old, n *slurm.Node, now slurm.Time) {
	if n != nil && isDrained(n) {
		if _, known := o.drained[n.Name]; known {
			return
		}
		d := drain{now, byOthers}
		if old == nil && n.ReasonAt.IsSet() {
			d.since = n.ReasonAt
		}
		if strings.HasPrefix(n.Reason, operatorPrefix) {
			d.by = byOperator
		}
		o.drained[n.Name] = d
		return
	}
	if old == nil {
		return
	}
	if d, known := o.drained[old.Name]; known {
		delete(o.drained, old.Name)
		o.drains.WithLabelValues(d.by).Observe(max(0, now.Sub(d.since).Seconds()))
	}
}

func isDrained(n *slurm.Node) bool { return n.State.Has(slurm.NodeDrain) }

// Families renders the history. It may be called concurrently with Record.
func (o *NodeHistory) Families(labels exposition.ConstLabels) []exposition.RenderedFamily {
	return renderRegistry(o.registry, labels)
}

// Example returns a history of no nodes.
func (o *NodeHistory) Example() prometheus.Gatherer {
	e := NewNodeHistory()
	e.addSeries()
	return e.registry
}

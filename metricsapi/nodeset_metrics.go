package metricsapi

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/operator/scaling"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// NodeSetLister lists the NodeSets of all namespaces, sorted by namespace and name. It does not
// block.
type NodeSetLister interface{ NodeSets() []Object }

// NodeSetMetrics is a prometheus.Collector of the numbers that HPAs read for NodeSets, and of
// their components. Collecting makes no request. Where an HPA gets an error, because a number is
// unknown or too old, there is no sample.
type NodeSetMetrics struct {
	nodeSets NodeSetLister
	cfg      Config
	metrics  []nodeSetMetric
}

var _ prometheus.Collector = (*NodeSetMetrics)(nil)

// NewNodeSetMetrics returns the metrics of the NodeSets, with the same age limit as a Provider
// with this Config.
func NewNodeSetMetrics(nodeSets NodeSetLister, cfg Config) *NodeSetMetrics {
	return &NodeSetMetrics{nodeSets, cfg.withDefaults(), nodeSetMetricTable()}
}

// nodeSetLabels are the labels that every sample has.
func nodeSetLabels() []string { return []string{labelCluster, "namespace", "nodeset"} }

// nodeSetMetric is a metric of NodeSets.
type nodeSetMetric struct {
	name, help string
	// labels are the labels in addition to nodeSetLabels.
	labels []string
	desc   *prometheus.Desc
	values func(s *nodeSetObservation, put func(value float64, labels ...string))
}

// nodeSetObservation is the known state of a NodeSet at one moment.
type nodeSetObservation struct {
	object Object
	now    time.Time
	// reading is nil before the first reading; pool is nil if the numbers are unknown or too old.
	reading *Reading
	pool    *poolNumbers
}

// Describe implements prometheus.Collector.
func (m *NodeSetMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, e := range m.metrics {
		out <- e.desc
	}
}

// Collect implements prometheus.Collector.
func (m *NodeSetMetrics) Collect(out chan<- prometheus.Metric) {
	for _, o := range m.nodeSets.NodeSets() {
		if len(o.Clusters) == 0 {
			continue
		}
		s := m.observe(o)
		own := []string{o.Clusters[0].String(), o.Namespace, o.Name}
		for _, e := range m.metrics {
			e.values(s, func(value float64, labels ...string) {
				out <- prometheus.MustNewConstMetric(e.desc, prometheus.GaugeValue, value,
					append(own[:len(own):len(own)], labels...)...)
			})
		}
	}
}

// observe returns the known state of the NodeSet.
func (m *NodeSetMetrics) observe(o Object) *nodeSetObservation {
	s := &nodeSetObservation{object: o, now: m.cfg.Now()}
	r, err := o.Clusters[0].Reading()
	if err != nil {
		return s
	}
	s.reading = r
	if at, ok := r.poolIndex[o.Pool]; ok && r.checkUsable(s.now, m.cfg.MaxAge) == nil {
		s.pool = r.poolNumbers(at)
	}
	return s
}

// nodeSetMetricTable lists all metrics of NodeSets.
func nodeSetMetricTable() []nodeSetMetric {
	var out []nodeSetMetric
	for _, e := range nodeSetEntries() {
		if e.Name != unsatisfiableJobs { // shown by reason
			out = append(out, poolMetric(e.Name, e.Help, e.poolValue))
		}
	}
	out = append(out, poolMetric("slurm_nodeset_off_nodes", "Nodes of the NodeSet that are powered down or FUTURE records.",
		func(p *poolNumbers) uint64 { return p.Off }))
	out = append(out, scaleMetrics()...)
	out = append(out, jobMetrics()...)
	out = append(out, readingMetrics()...)
	for i := range out {
		e := &out[i]
		e.desc = prometheus.NewDesc(e.name, e.help, append(nodeSetLabels(), e.labels...), nil)
	}
	return out
}

func poolMetric(name, help string, value func(p *poolNumbers) uint64) nodeSetMetric {
	return nodeSetMetric{name: name, help: help, values: func(s *nodeSetObservation, put func(float64, ...string)) {
		if s.pool != nil {
			put(float64(value(s.pool)))
		}
	}}
}

// scaleMetrics are the replicas and their bounds, which are known without Slurm.
func scaleMetrics() []nodeSetMetric {
	of := func(name, help string, value func(o *scaling.Bounds) *uint64) nodeSetMetric {
		return nodeSetMetric{name: name, help: help, values: func(s *nodeSetObservation, put func(float64, ...string)) {
			if s.object.ScaleBounds == nil {
				return
			}
			if v := value(s.object.ScaleBounds); v != nil {
				put(float64(*v))
			}
		}}
	}
	return []nodeSetMetric{
		of("slurm_nodeset_replicas", "Desired number of workers of the NodeSet (spec.replicas).",
			func(o *scaling.Bounds) *uint64 { return &o.Replicas }),
		of("slurm_nodeset_min_nodes",
			"Minimum number of workers that the NodeSet's HPA keeps; no sample without an HPA.",
			func(o *scaling.Bounds) *uint64 { return o.Min }),
		of("slurm_nodeset_max_nodes",
			"Maximum number of workers of the NodeSet: the smaller of its spec.maxReplicas and its HPA's maxReplicas; "+
				"no sample if neither is set.", func(o *scaling.Bounds) *uint64 { return o.Max }),
	}
}

func jobMetrics() []nodeSetMetric {
	return []nodeSetMetric{
		poolMetric("slurm_nodeset_pending_jobs",
			"Pending jobs of the partitions that the NodeSet serves, whatever their reason; every array task counts.",
			func(p *poolNumbers) uint64 { return p.PendingJobs }),
		poolMetric("slurm_nodeset_eligible_pending_jobs",
			"Pending jobs that create demand for this NodeSet; each job creates demand for one NodeSet only.",
			func(p *poolNumbers) uint64 { return p.EligiblePendingJobs }),
		labelledPoolMetric("class", "slurm_nodeset_pending_jobs_by_class",
			"Pending jobs by the class of Slurm's reason; only jobs of the class capacity create demand.", putClasses),
		labelledPoolMetric("why", "slurm_nodeset_unmodelled_jobs",
			"Pending jobs with a request for which the demand is only an estimate, by kind of request; a job may have "+
				"several.", putDeviations),
		poolMetric("slurm_nodeset_pending_jobs_inexact",
			"1 if slurmctld truncated the task list of an array, so that counts of pending jobs are lower bounds.",
			inexactValue),
		labelledPoolMetric("reason", unsatisfiableJobs,
			"Pending jobs that neither this NodeSet with its maximum number of nodes nor any other NodeSet can run, "+
				"by reason.", putReasons),
		timeMetric("slurm_nodeset_oldest_pending_submit_time_seconds",
			"Submit time of the job that has been pending longest, in Unix time; no sample if no job is pending.",
			func(p *poolNumbers) slurm.Time { return p.OldestPending }),
		timeMetric("slurm_nodeset_oldest_eligible_time_seconds",
			"Eligible time of the job that has waited longest for this NodeSet, in Unix time; no sample if there is "+
				"none.", func(p *poolNumbers) slurm.Time { return p.OldestEligible }),
	}
}

// labelledPoolMetric returns a metric of the pool with one label.
func labelledPoolMetric(
	label, name, help string, put func(p *poolNumbers, put func(jobs uint64, value string)),
) nodeSetMetric {
	return nodeSetMetric{name: name, help: help, labels: []string{label},
		values: func(s *nodeSetObservation, out func(float64, ...string)) {
			if s.pool != nil {
				put(s.pool, func(jobs uint64, value string) { out(float64(jobs), value) })
			}
		}}
}

func putClasses(p *poolNumbers, put func(jobs uint64, class string)) {
	for _, c := range pending.Classes() {
		put(p.ByClass[c], string(c))
	}
}

func putDeviations(p *poolNumbers, put func(jobs uint64, why string)) {
	for _, d := range demand.Deviations() {
		put(p.Unmodelled[d], string(d))
	}
}

func putReasons(p *poolNumbers, put func(jobs uint64, reason string)) {
	for _, u := range p.Unsatisfiable {
		put(u.Jobs, u.Reason)
	}
}

func inexactValue(p *poolNumbers) uint64 {
	if p.Inexact {
		return 1
	}
	return 0
}

func timeMetric(name, help string, value func(p *poolNumbers) slurm.Time) nodeSetMetric {
	return nodeSetMetric{name: name, help: help, values: func(s *nodeSetObservation, put func(float64, ...string)) {
		if s.pool == nil {
			return
		}
		if at := value(s.pool); at.IsSet() && at != slurm.Never {
			put(float64(at))
		}
	}}
}

// readingMetrics show whether the numbers are known, and how old they are.
func readingMetrics() []nodeSetMetric {
	return []nodeSetMetric{
		{
			name: "slurm_nodeset_known",
			help: "1 if HPAs get numbers for the NodeSet, 0 if they get an error because the numbers are too old or " +
				"unknown.",
			values: func(s *nodeSetObservation, put func(float64, ...string)) {
				if s.pool != nil {
					put(1)
				} else {
					put(0)
				}
			},
		},
		{
			name: "slurm_nodeset_snapshot_age_seconds",
			help: "Age of the oldest Slurm data from which the numbers were computed; no sample before the first " +
				"reading.",
			values: func(s *nodeSetObservation, put func(float64, ...string)) {
				if s.reading != nil && s.reading.Known() {
					put(max(0, s.now.Sub(s.reading.ReadAt()).Seconds()))
				}
			},
		},
	}
}

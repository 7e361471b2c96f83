package metricsapi

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// NodeSetLister tells which NodeSets there are, in all namespaces, sorted by namespace
// and name. It does not block.
type NodeSetLister interface{ NodeSets() []Object }

// NodeSetMetrics shows Prometheus what HPAs are told of NodeSets, and what it is made of.
// It is a prometheus.Collector that makes no request. A number is shown as long as an
// HPA would get one: what is not known, and what was read too long ago, has no sample.
type NodeSetMetrics struct {
	nodeSets NodeSetLister
	cfg      Config
	exposed  []exposed
}

var _ prometheus.Collector = (*NodeSetMetrics)(nil)

// NewNodeSetMetrics returns the metrics of the NodeSets, by the same limits as those of
// a Provider with the Config.
func NewNodeSetMetrics(nodeSets NodeSetLister, cfg Config) *NodeSetMetrics {
	return &NodeSetMetrics{nodeSets, cfg.filled(), exposedMetrics()}
}

// nodeSetLabels are what every sample begins with.
func nodeSetLabels() []string { return []string{labelCluster, "namespace", "nodeset"} }

// exposed is a metric of NodeSets.
type exposed struct {
	name, help string
	// labels are those beside nodeSetLabels.
	labels []string
	desc   *prometheus.Desc
	values func(s *seen, put func(value float64, labels ...string))
}

// seen is what is known of a NodeSet at one moment.
type seen struct {
	object Object
	now    time.Time
	// reading is nil before the first, and pool nil where no number may be told.
	reading *Reading
	pool    *demand.PoolDemand
}

// Describe implements prometheus.Collector.
func (m *NodeSetMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, e := range m.exposed {
		out <- e.desc
	}
}

// Collect implements prometheus.Collector.
func (m *NodeSetMetrics) Collect(out chan<- prometheus.Metric) {
	for _, o := range m.nodeSets.NodeSets() {
		if len(o.Clusters) == 0 {
			continue
		}
		s := m.look(o)
		own := []string{o.Clusters[0].String(), o.Namespace, o.Name}
		for _, e := range m.exposed {
			e.values(s, func(value float64, labels ...string) {
				out <- prometheus.MustNewConstMetric(e.desc, prometheus.GaugeValue, value, append(own[:len(own):len(own)], labels...)...)
			})
		}
	}
}

// look finds what is known of the NodeSet.
func (m *NodeSetMetrics) look(o Object) *seen {
	s := &seen{object: o, now: m.cfg.Now()}
	r, err := o.Clusters[0].Reading()
	if err != nil {
		return s
	}
	s.reading = r
	if at, ok := r.pools[o.Pool]; ok && r.usable(s.now, m.cfg.MaxAge) == nil {
		s.pool = &r.demand.Pools[at]
	}
	return s
}

// exposedMetrics is the table of all there is.
func exposedMetrics() []exposed {
	var out []exposed
	for _, e := range nodeSetEntries() {
		if e.Name != unsatisfiableJobs { // shown by reason
			out = append(out, ofPool(e.Name, e.Help, e.pool))
		}
	}
	out = append(out, madeOf()...)
	out = append(out, ofKubernetes()...)
	out = append(out, ofJobs()...)
	out = append(out, ofReading()...)
	for i := range out {
		e := &out[i]
		e.desc = prometheus.NewDesc(e.name, e.help, append(nodeSetLabels(), e.labels...), nil)
	}
	return out
}

func ofPool(name, help string, value func(p *demand.PoolDemand) uint64) exposed {
	return exposed{name: name, help: help, values: func(s *seen, put func(float64, ...string)) {
		if s.pool != nil {
			put(float64(value(s.pool)))
		}
	}}
}

// madeOf is what required nodes are made of, beside busy and pending ones.
func madeOf() []exposed {
	return []exposed{
		ofPool("slurm_nodeset_off_nodes", "Nodes of the NodeSet that are powered down or FUTURE records.", func(p *demand.PoolDemand) uint64 { return p.Off }),
		ofPool("slurm_nodeset_claimed_nodes", "Idle and booting nodes that eligible pending jobs are about to take; required.", func(p *demand.PoolDemand) uint64 { return p.Claimed }),
		ofPool("slurm_nodeset_grace_nodes", "Idle nodes that count as required since they have been idle for less than the idle grace, claimed ones among them.", func(p *demand.PoolDemand) uint64 { return p.Grace }),
		ofPool("slurm_nodeset_replacement_nodes", "Nodes that are required in the place of unusable ones.", func(p *demand.PoolDemand) uint64 { return p.Replacements }),
	}
}

// ofKubernetes is how many workers there may be. It is known without Slurm.
func ofKubernetes() []exposed {
	of := func(name, help string, value func(o *Offer) *uint64) exposed {
		return exposed{name: name, help: help, values: func(s *seen, put func(float64, ...string)) {
			if s.object.Offer == nil {
				return
			}
			if v := value(s.object.Offer); v != nil {
				put(float64(*v))
			}
		}}
	}
	return []exposed{
		of("slurm_nodeset_replicas", "Workers that the NodeSet is meant to have: its spec.replicas.", func(o *Offer) *uint64 { return &o.Replicas }),
		of("slurm_nodeset_min_nodes", "Least workers that the NodeSet's HPA keeps; no sample without one.", func(o *Offer) *uint64 { return o.Min }),
		of("slurm_nodeset_max_nodes", "Most workers that the NodeSet can have: the smaller of its spec.maxReplicas and its HPA's maxReplicas; no sample where neither is set.", func(o *Offer) *uint64 { return o.Max }),
	}
}

func ofJobs() []exposed {
	return []exposed{
		ofPool("slurm_nodeset_pending_jobs", "Pending jobs of the partitions that the NodeSet serves, whatever they wait for: every array task counts.", func(p *demand.PoolDemand) uint64 { return p.PendingJobs }),
		ofPool("slurm_nodeset_eligible_pending_jobs", "Pending jobs that ask this NodeSet for nodes; no job asks two.", func(p *demand.PoolDemand) uint64 { return p.EligiblePendingJobs }),
		ofPoolBy("class", "slurm_nodeset_pending_jobs_by_class", "Pending jobs by the class of what they wait for; only those of the class capacity ask for nodes.", putClasses),
		ofPoolBy("why", "slurm_nodeset_unmodelled_jobs", "Pending jobs that ask for something that the demand only estimates, by what that is; a job may ask for several.", putDeviations),
		ofPool("slurm_nodeset_pending_jobs_inexact", "1 when slurmctld cut the task list of an array, so that the counts of pending jobs are lower bounds.", inexact),
		ofPoolBy("reason", unsatisfiableJobs, "Pending jobs that the NodeSet could not run with all the nodes that it may have, nor any other, by why.", putReasons),
		ofTime("slurm_nodeset_oldest_pending_submit_time_seconds", "When the pending job that waits longest was submitted, in Unix time; no sample when none is pending.", func(p *demand.PoolDemand) slurm.Time { return p.OldestPending }),
		ofTime("slurm_nodeset_oldest_eligible_time_seconds", "Since when the longest waiting job that asks this NodeSet could have run, in Unix time; no sample when there is none.", func(p *demand.PoolDemand) slurm.Time { return p.OldestEligible }),
	}
}

// ofPoolBy is a metric with a label.
func ofPoolBy(label, name, help string, put func(p *demand.PoolDemand, put func(jobs uint64, value string))) exposed {
	return exposed{name: name, help: help, labels: []string{label}, values: func(s *seen, out func(float64, ...string)) {
		if s.pool != nil {
			put(s.pool, func(jobs uint64, value string) { out(float64(jobs), value) })
		}
	}}
}

func putClasses(p *demand.PoolDemand, put func(jobs uint64, class string)) {
	for _, c := range demand.Classes() {
		put(p.ByClass[c], string(c))
	}
}

func putDeviations(p *demand.PoolDemand, put func(jobs uint64, why string)) {
	for _, d := range demand.Deviations() {
		put(p.Unmodelled[d], string(d))
	}
}

func putReasons(p *demand.PoolDemand, put func(jobs uint64, reason string)) {
	for _, u := range p.Unsatisfiable {
		put(u.Jobs, u.Reason)
	}
}

func inexact(p *demand.PoolDemand) uint64 {
	if p.Inexact {
		return 1
	}
	return 0
}

func ofTime(name, help string, value func(p *demand.PoolDemand) slurm.Time) exposed {
	return exposed{name: name, help: help, values: func(s *seen, put func(float64, ...string)) {
		if s.pool == nil {
			return
		}
		if at := value(s.pool); at.IsSet() && at != slurm.Never {
			put(float64(at))
		}
	}}
}

// ofReading tells whether there are numbers, and how old they are.
func ofReading() []exposed {
	return []exposed{
		{
			name: "slurm_nodeset_known", help: "1 when an HPA is told numbers of the NodeSet, 0 when it gets an error since they are too old or not known.",
			values: func(s *seen, put func(float64, ...string)) {
				if s.pool != nil {
					put(1)
				} else {
					put(0)
				}
			},
		},
		{
			name: "slurm_nodeset_snapshot_age_seconds", help: "Age of the oldest reading of Slurm that the numbers are computed of; no sample before the first.",
			values: func(s *seen, put func(float64, ...string)) {
				if s.reading != nil && s.reading.Known() {
					put(max(0, s.now.Sub(s.reading.At()).Seconds()))
				}
			},
		},
	}
}

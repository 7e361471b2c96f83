package slurmclients

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// RequestMetrics measures the requests to the slurmrestd of every cluster.
type RequestMetrics struct {
	took *prometheus.HistogramVec
}

// NewRequestMetrics returns RequestMetrics that are registered with registry.
func NewRequestMetrics(registry prometheus.Registerer) *RequestMetrics {
	r := &RequestMetrics{took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "slurm_operator_slurm_request_duration_seconds",
		Help:    "Time of requests to slurmrestd until the answer was read, by HTTP status; 0 is no answer.",
		Buckets: []float64{.005, .02, .1, .5, 2, 10, 60},
	}, []string{"cluster", "operation", "status"})}
	registry.MustRegister(r.took)
	return r
}

// ObserverOf returns the observer of the requests of one cluster, for Config.Observer.
func (r *RequestMetrics) ObserverOf(k refs.ClusterKey) slurmclient.Observer {
	return requestObserver{r, k.String()}
}

type requestObserver struct {
	*RequestMetrics
	cluster string
}

// Request implements slurmclient.Observer.
func (o requestObserver) Request(op string, status int, took time.Duration, _ int64) {
	o.took.WithLabelValues(o.cluster, op, strconv.Itoa(status)).Observe(took.Seconds())
}

// Polled implements slurmclient.Observer.
func (o requestObserver) Polled(slurmclient.Resource, time.Duration, error) {}

// ageCollector collects the age of readings.
type ageCollector struct {
	clients *Clusters
	now     func() time.Time
	age, up *prometheus.Desc
}

// AgeCollector returns a collector of the age of each cluster's reading, by the clock now, and of
// whether the cluster can be read. A cluster that was never read has no age.
func (c *Clusters) AgeCollector(now func() time.Time) prometheus.Collector {
	return ageCollector{c, now,
		prometheus.NewDesc("slurm_operator_reading_age_seconds",
			"Age of what is known of a Slurm cluster.", []string{"cluster", "resource"}, nil),
		prometheus.NewDesc("slurm_operator_slurm_up",
			"Whether the Slurm cluster can be read: the last polls of nodes and jobs did not fail.",
			[]string{"cluster"}, nil)}
}

// Describe implements prometheus.Collector.
func (a ageCollector) Describe(to chan<- *prometheus.Desc) { to <- a.age; to <- a.up }

// Collect implements prometheus.Collector.
func (a ageCollector) Collect(to chan<- prometheus.Metric) {
	for _, k := range a.clients.Keys() {
		s := a.clients.For(k)
		if s == nil {
			continue
		}
		up := 0.0
		if s.Err() == nil && s.Reading().Complete() {
			up = 1
		}
		to <- prometheus.MustNewConstMetric(a.up, prometheus.GaugeValue, up, k.String())
		snapshot := s.Reading().Snapshot
		for _, p := range []slurmclient.Poll{snapshot.Nodes.Poll, snapshot.Jobs.Poll} {
			if p.Known {
				age := p.Age(a.now()).Seconds()
				to <- prometheus.MustNewConstMetric(a.age, prometheus.GaugeValue, age, k.String(), string(p.Resource))
			}
		}
	}
}

package live

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// Requests counts requests to slurmrestd, of all clusters.
type Requests struct {
	took *prometheus.HistogramVec
}

// NewRequests returns Requests that registry serves.
func NewRequests(registry prometheus.Registerer) *Requests {
	r := &Requests{took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "slurm_operator_slurm_request_duration_seconds", Help: "Time of requests to slurmrestd until the answer was read, by HTTP status; 0 is no answer.",
		Buckets: []float64{.005, .02, .1, .5, 2, 10, 60},
	}, []string{"cluster", "operation", "status"})}
	registry.MustRegister(r.took)
	return r
}

// Of observes the requests of one cluster, for Config.Observer.
func (r *Requests) Of(k access.Key) slurmclient.Observer { return observer{r, k.String()} }

type observer struct {
	*Requests
	cluster string
}

// Request implements slurmclient.Observer.
func (o observer) Request(op string, status int, took time.Duration, _ int64) {
	o.took.WithLabelValues(o.cluster, op, strconv.Itoa(status)).Observe(took.Seconds())
}

// Polled implements slurmclient.Observer.
func (o observer) Polled(slurmclient.Resource, time.Duration, error) {}

// ages shows how old readings are.
type ages struct {
	clients *Clients
	now     func() time.Time
	age, up *prometheus.Desc
}

// Ages collects how old the reading of each cluster is, by the clock now, and whether
// it can be read. A cluster that was never read has no age.
func (c *Clients) Ages(now func() time.Time) prometheus.Collector {
	return ages{c, now,
		prometheus.NewDesc("slurm_operator_reading_age_seconds", "Age of what is known of a Slurm cluster.", []string{"cluster", "resource"}, nil),
		prometheus.NewDesc("slurm_operator_slurm_up", "Whether the Slurm cluster can be read: the last polls of nodes and jobs did not fail.", []string{"cluster"}, nil)}
}

// Describe implements prometheus.Collector.
func (a ages) Describe(to chan<- *prometheus.Desc) { to <- a.age; to <- a.up }

// Collect implements prometheus.Collector.
func (a ages) Collect(to chan<- prometheus.Metric) {
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
				to <- prometheus.MustNewConstMetric(a.age, prometheus.GaugeValue, p.Age(a.now()).Seconds(), k.String(), string(p.Resource))
			}
		}
	}
}

package exporter

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// ClientMetrics collects metrics of the requests and polls of a slurmclient. It implements
// slurmclient.Observer and prometheus.Collector.
type ClientMetrics struct {
	requestSeconds  *prometheus.HistogramVec
	requests        *prometheus.CounterVec
	responseBytes   *prometheus.CounterVec
	polls           *prometheus.CounterVec
	lastPollSeconds *prometheus.GaugeVec
}

// NewClientMetrics returns ClientMetrics without requests.
func NewClientMetrics() *ClientMetrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "slurm_exporter_" + name, Help: help}, labels)
	}
	r := &ClientMetrics{
		requestSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "slurm_exporter_request_duration_seconds",
			Help:    "Duration of requests to slurmrestd, including reading the response.",
			Buckets: []float64{.005, .02, .1, .5, 2, 10, 60},
		}, []string{"operation"}),
		requests: counter("requests_total", "Requests to slurmrestd by HTTP status; status 0 means no response.",
			"operation", "status"),
		responseBytes: counter("response_bytes_total", "Bytes of responses read from slurmrestd.", "operation"),
		polls:         counter("polls_total", "Polls of a resource by result.", "resource", "result"),
		lastPollSeconds: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "slurm_exporter_poll_duration_seconds", Help: "Duration of the last poll of a resource.",
		}, []string{"resource"}),
	}
	for _, res := range slurmclient.Resources() {
		r.polls.WithLabelValues(string(res), "success")
		r.polls.WithLabelValues(string(res), "error")
	}
	return r
}

// Request implements slurmclient.Observer.
func (r *ClientMetrics) Request(op string, status int, took time.Duration, bytes int64) {
	r.requestSeconds.WithLabelValues(op).Observe(took.Seconds())
	r.requests.WithLabelValues(op, strconv.Itoa(status)).Inc()
	r.responseBytes.WithLabelValues(op).Add(float64(max(0, bytes)))
}

// Polled implements slurmclient.Observer.
func (r *ClientMetrics) Polled(res slurmclient.Resource, took time.Duration, err error) {
	result := "success"
	if err != nil {
		result = "error"
	}
	r.polls.WithLabelValues(string(res), result).Inc()
	r.lastPollSeconds.WithLabelValues(string(res)).Set(took.Seconds())
}

func (r *ClientMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{r.requestSeconds, r.requests, r.responseBytes, r.polls, r.lastPollSeconds}
}

// Describe implements prometheus.Collector.
func (r *ClientMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, c := range r.collectors() {
		c.Describe(out)
	}
}

// Collect implements prometheus.Collector.
func (r *ClientMetrics) Collect(out chan<- prometheus.Metric) {
	for _, c := range r.collectors() {
		c.Collect(out)
	}
}

package exporter

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// coreResources returns the resources that slurm_up depends on.
func coreResources() []slurmclient.Resource {
	return []slurmclient.Resource{
		slurmclient.Pings, slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions, slurmclient.Stats,
	}
}

// isUp reports whether a slurmctld responds and the last poll of every core resource succeeded.
func isUp(s *slurmclient.Snapshot) bool {
	for _, r := range coreResources() {
		if p := tally.PollOf(s, r); p.Enabled && (!p.Known || p.Err != nil) {
			return false
		}
	}
	for _, p := range s.Pings.Value {
		if p.Responding {
			return true
		}
	}
	return !s.Pings.Enabled
}

// exporterMetrics collects metrics of the exporter itself at the time of the scrape.
type exporterMetrics struct {
	exporter *Exporter

	up, clusterInfo, resourceUp, snapshotAge, pollPeriod, pollFailures *exporterMetric
	success, duration, series, tokenExpiry                             *exporterMetric
	panics, pollRound, jobsReader                                      *exporterMetric
}

// exporterMetric is one metric of exporterMetrics.
type exporterMetric struct {
	name, help string
	kind       exposition.Kind
	labels     []string
	desc       *prometheus.Desc
}

func newMetric(name, help string, labels ...string) *exporterMetric {
	return &exporterMetric{name, help, exposition.Gauge, labels, prometheus.NewDesc(name, help, labels, nil)}
}

func newCounter(name, help string, labels ...string) *exporterMetric {
	m := newMetric(name, help, labels...)
	m.kind = exposition.Counter
	return m
}

func newExporterMetrics(e *Exporter) *exporterMetrics {
	return &exporterMetrics{
		exporter: e,
		up:       newMetric(upName, upHelp),
		clusterInfo: newMetric("slurm_cluster_info",
			"Always 1; the labels are the cluster's name in Slurm, the release of its slurmrestd and the API version "+
				"in use.", "cluster", "release", "api_version"),
		resourceUp: newMetric("slurm_exporter_resource_up",
			"1 if the last poll of the resource succeeded, 0 if it failed or there was none yet.", "resource"),
		snapshotAge: newMetric("slurm_exporter_snapshot_age_seconds",
			"Time since the start of the last successful poll of the resource; no sample before the first.",
			"resource"),
		pollPeriod: newMetric("slurm_exporter_poll_period_seconds", "Current pause between polls of the resource.",
			"resource"),
		pollRound: newMetric("slurm_exporter_poll_round_seconds",
			"Time in which polls at the current rate read every record of the resource at least once, changed or not; "+
				"no sample if each poll reads all changes.", "resource"),
		jobsReader: newMetric("slurm_exporter_jobs_reader",
			"Always 1; the label is how the last successful poll read jobs: list for all jobs, delta for changed jobs "+
				"only. A delta reader requests the list if that costs slurmrestd less.", "reader"),
		pollFailures: newMetric("slurm_exporter_poll_consecutive_failures", "Consecutive failed polls of the resource.",
			"resource"),
		success: newMetric("slurm_exporter_collector_success",
			"1 if the last poll of every resource of the collector succeeded and the collector was rendered.",
			"collector"),
		duration: newMetric("slurm_exporter_collector_duration_seconds", "Time to render the collector's exposition.",
			"collector"),
		series: newMetric("slurm_exporter_collector_series", "Number of series of the collector.", "collector"),
		panics: newCounter("slurm_exporter_panics_total",
			"Computations that panicked: reading a resource (poll), summing it (total), comparing it with the "+
				"previous snapshot (observe) or rendering a collector (render). The last good values stay.", "stage",
			"part"),
		tokenExpiry: newMetric("slurm_exporter_token_expiry_time_seconds",
			"When the token in use expires, in Unix time; no sample if unknown."),
	}
}

func (s *exporterMetrics) allMetrics() []*exporterMetric {
	return []*exporterMetric{s.up, s.clusterInfo, s.resourceUp, s.snapshotAge, s.pollPeriod, s.pollRound, s.jobsReader,
		s.pollFailures, s.success, s.duration,
		s.series, s.panics, s.tokenExpiry}
}

// Describe implements prometheus.Collector.
func (s *exporterMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, m := range s.allMetrics() {
		out <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (s *exporterMetrics) Collect(out chan<- prometheus.Metric) {
	put := func(m *exporterMetric, value float64, labels ...string) {
		as := prometheus.GaugeValue
		if m.kind == exposition.Counter {
			as = prometheus.CounterValue
		}
		out <- prometheus.MustNewConstMetric(m.desc, as, value, labels...)
	}
	now := s.exporter.source.Snapshot()
	put(s.up, exposition.OneIf(isUp(now)))
	if now.Version != "" {
		put(s.clusterInfo, 1, now.Server.Cluster, now.Server.Release, now.Version)
	}
	s.collectPolls(now, put)
	s.collectSections(now, put)
	s.exporter.panics.Each(func(c exposition.Computation,
		n uint64) {
		put(s.panics, float64(n), string(c.Stage), c.Part)
	})
	if s.exporter.cfg.TokenExpiry == nil {
		return
	}
	if t := s.exporter.cfg.TokenExpiry(); !t.IsZero() {
		put(s.tokenExpiry, float64(t.Unix()))
	}
}

type putMetric func(m *exporterMetric, value float64, labels ...string)

func (s *exporterMetrics) collectPolls(now *slurmclient.Snapshot, put putMetric) {
	clock := s.exporter.cfg.Now()
	for _, p := range now.Polls() {
		if !p.Enabled {
			continue
		}
		r := string(p.Resource)
		put(s.resourceUp, exposition.OneIf(p.Known && p.Err == nil), r)
		put(s.pollFailures, float64(p.Failures), r)
		put(s.panics, float64(p.Panics), string(exposition.StagePoll), r)
		if p.Known {
			put(s.snapshotAge, p.Age(clock).Seconds(), r)
		}
		if p.Period > 0 {
			put(s.pollPeriod, p.Period.Seconds(), r)
		}
		if p.Round > 0 {
			put(s.pollRound, p.Round.Seconds(), r)
		}
		if p.Reader != "" {
			put(s.jobsReader, 1, string(p.Reader))
		}
	}
}

func (s *exporterMetrics) collectSections(now *slurmclient.Snapshot, put putMetric) {
	page := s.exporter.pages.LastPage()
	for i, c := range s.exporter.collectors {
		put(s.success, exposition.OneIf(hasSucceeded(now, c) && (page == nil || !page.Sections[i].Failed)), c.Name)
		if page != nil {
			put(s.duration, page.Sections[i].Took.Seconds(), c.Name)
			put(s.series, float64(page.Sections[i].Series), c.Name)
		}
	}
}

func hasSucceeded(s *slurmclient.Snapshot, c exposition.Collector) bool {
	for _, r := range c.Needs {
		if p := tally.PollOf(s, r); p.Enabled && (!p.Known || p.Err != nil) {
			return false
		}
	}
	return true
}

// Ready returns nil once values can be scraped, and before that an error with the reason. It stays nil if Slurm fails
// later, because the last values are still served.
func (e *Exporter) Ready() error {
	if e.pages.NewestSnapshot() == nil {
		return errNotReady("nothing has been read yet")
	}
	s := e.source.Snapshot()
	for _, r := range []slurmclient.Resource{slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions} {
		p := tally.PollOf(s, r)
		if p.Known || !p.Enabled {
			continue
		}
		if p.Err != nil {
			return errNotReady(string(r) + " could not be read: " + p.Err.Error())
		}
		return errNotReady(string(r) + " have not been read yet")
	}
	return nil
}

type errNotReady string

func (e errNotReady) Error() string { return string(e) }

// oldestAge returns the age of the oldest core resource, or false if one has not been read yet.
func oldestAge(s *slurmclient.Snapshot, now time.Time) (time.Duration, bool) {
	var oldest time.Duration
	for _, r := range coreResources() {
		p := tally.PollOf(s, r)
		if p.Enabled && !p.Known {
			return 0, false
		}
		oldest = max(oldest, p.Age(now))
	}
	return oldest, true
}

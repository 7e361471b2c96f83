package exporter

import "github.com/prometheus/client_golang/prometheus"

const (
	upName = "slurm_up"
	upHelp = "1 when a slurmctld answers and the last poll of nodes, jobs, partitions and statistics succeeded."
)

// absent are the labels of clusters that are known and have no Exporter, such as those
// that cannot be connected to. It is a prometheus.Collector that says that they are not up.
type absent []map[string]string

// Describe implements prometheus.Collector.
func (a absent) Describe(out chan<- *prometheus.Desc) {
	for _, labels := range a {
		out <- prometheus.NewDesc(upName, upHelp, nil, labels)
	}
}

// Collect implements prometheus.Collector.
func (a absent) Collect(out chan<- prometheus.Metric) {
	for _, labels := range a {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(upName, upHelp, nil, labels), prometheus.GaugeValue, 0)
	}
}

// families renders them.
func (a absent) families(f format) ([]shownFamily, error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(a); err != nil {
		return nil, err
	}
	return gather(registry, constLabels{}, f)
}

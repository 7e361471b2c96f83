package exporter

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/exporter/exposition"
)

const (
	upName = "slurm_up"
	upHelp = "1 when a slurmctld answers and the last poll of nodes, jobs, partitions and statistics succeeded."
)

// unreachableClusters lists the labels of known clusters that have no Exporter, such as those without a
// connection. It is a prometheus.Collector that reports slurm_up as 0 for each of them.
type unreachableClusters []map[string]string

// Describe implements prometheus.Collector.
func (a unreachableClusters) Describe(out chan<- *prometheus.Desc) {
	for _, labels := range a {
		out <- prometheus.NewDesc(upName, upHelp, nil, labels)
	}
}

// Collect implements prometheus.Collector.
func (a unreachableClusters) Collect(out chan<- prometheus.Metric) {
	for _, labels := range a {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(upName, upHelp, nil, labels), prometheus.GaugeValue,
			0)
	}
}

// families renders slurm_up of the clusters in a format.
func (a unreachableClusters) families(f exposition.Format) ([]exposition.RenderedFamily, error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(a); err != nil {
		return nil, err
	}
	return exposition.GatherFamilies(registry, exposition.ConstLabels{}, f)
}

//go:build e2e

package menagerie

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/test/e2e/slurm/numbers"
)

// partitionMetric returns a metric of a partition from Slurm's commands, or from the exporter where
// the commands do not show it.
func (s *observation) partitionMetric(metric, partition string) (float64, bool) {
	key := numbers.FormatSeries(metric, "partition", partition)
	switch metric {
	case "slurm_partition_running_jobs":
		return s.commands.Series[numbers.FormatSeries("slurm_partition_jobs", "partition", partition, "state",
			"running")], true
	case "slurm_partition_pending_jobs", "slurm_partition_idle_nodes":
		return s.commands.Series[key], true
	}
	v, ok := s.metrics[key]
	return v, ok
}

// compareProvider requests every metric of every partition and of every variant's NodeSet.
func compareProvider(t *testing.T, s *observation) ([]string, int) {
	c := &comparison{}
	for _, e := range metricsapi.Catalogue() {
		if e.OfPartitions() {
			for partition := range s.slurm.partitions {
				if want, ok := s.partitionMetric(e.Name, partition); ok {
					got := s.adapter.readMetric(t, metricsapi.Clusters(), s.adapter.name, e.Name,
						labels.Set{"partition": partition}.AsSelector())
					c.compare("partition "+partition, e.Name, fmt.Sprint(want), got)
				}
			}
		}
	}
	for _, p := range s.adapter.pools {
		c.compareNodeSet(t, s, p.Name[len(s.adapter.namespace)+1:])
	}
	return c.differences, c.compared
}

// compareNodeSet checks that every node of a variant is in exactly one of its node metrics.
func (c *comparison) compareNodeSet(t *testing.T, s *observation, name string) {
	var parts float64
	for _, part := range []string{"busy", "idle", "booting", "unusable"} {
		var n float64
		text := s.adapter.readMetric(t, metricsapi.NodeSets(), name, "slurm_nodeset_"+part+"_nodes",
			labels.Everything())
		if _, err := fmt.Sscan(text, &n); err != nil {
			c.compare("NodeSet "+name, part, "a number", text)
		}
		parts += n
	}
	var want float64
	for _, n := range s.slurm.nodes {
		if first, _, _ := strings.Cut(n["ActiveFeatures"], ","); first == name &&
			!strings.Contains(n["State"], "POWERED_DOWN") {
			want++
		}
	}
	c.compare("NodeSet "+name, "the number of its nodes", fmt.Sprint(want), fmt.Sprint(parts))
}

// readMetric returns the value of a metric, or the error.
func (a *adapter) readMetric(t *testing.T, of metricsapi.Resource, name, metric string,
	selector labels.Selector) string {
	info := provider.CustomMetricInfo{GroupResource: of.GroupResource, Namespaced: of.Namespaced, Metric: metric}
	v, err := a.provider.GetMetricByName(t.Context(), types.NamespacedName{Namespace: a.namespace, Name: name}, info,
		selector)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(v.Value.AsApproximateFloat64())
}

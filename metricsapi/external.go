package metricsapi

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/metrics/pkg/apis/external_metrics"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

const (
	labelNamespace = "namespace"
	labelNodeSet   = "nodeset"
)

// ListAllExternalMetrics implements provider.ExternalMetricsProvider.
func (p *Provider) ListAllExternalMetrics() []provider.ExternalMetricInfo {
	var out []provider.ExternalMetricInfo
	for _, e := range Catalogue() {
		out = append(out, provider.ExternalMetricInfo{Metric: e.Name})
	}
	return out
}

// GetExternalMetric implements provider.ExternalMetricsProvider. It returns one value for each object:
//
//   - for each NodeSet of the namespace, with the labels namespace, cluster and nodeset, or
//   - for each partition of the namespace's clusters, with the labels namespace, cluster and partition.
//
// HPAs sum the values, so a job in two partitions counts twice. If one cluster is unavailable, the whole list is an
// error, unless the selector excludes that cluster.
func (p *Provider) GetExternalMetric(
	_ context.Context, namespace string, selector labels.Selector, info provider.ExternalMetricInfo,
) (*external_metrics.ExternalMetricValueList, error) {
	unknown := provider.NewMetricNotFoundForSelectorError(
		schema.GroupResource{Group: "external.metrics.k8s.io", Resource: info.Metric}, info.Metric, namespace, selector)
	e, ok := p.entries[info.Metric]
	if !ok {
		return nil, unknown
	}
	list := p.listPartitionValues
	if e.poolValue != nil {
		list = p.listPoolValues
	}
	out := &external_metrics.ExternalMetricValueList{}
	if err := list(e, namespace, selector, out); err != nil {
		return nil, err
	}
	if len(out.Items) > 0 {
		return out, nil
	}
	if partitions := p.partitionsOf(namespace, selector); e.OfPartitions() && len(partitions) > 0 {
		return nil, explainNotFound(unknown, e, partitions)
	}
	return nil, unknown
}

func (p *Provider) listPoolValues(
	e Entry, namespace string, selector labels.Selector, out *external_metrics.ExternalMetricValueList,
) error {
	for _, o := range p.directory.Objects(NodeSets(), namespace, labels.Everything()) {
		for _, c := range o.Clusters {
			set := labels.Set{labelNamespace: namespace, labelCluster: c.Name(), labelNodeSet: o.Name}
			if !selector.Matches(set) {
				continue
			}
			var n metricSum
			r, err := p.reading(c)
			if err == nil {
				err = n.add(e, o, c.Name(), r, labels.Everything())
			}
			if err != nil {
				return newUnavailable(c.String(), err)
			}
			if n.found {
				out.Items = append(out.Items, newExternalValue(e, set, n.value, r))
			}
		}
	}
	return nil
}

func (p *Provider) listPartitionValues(
	e Entry, namespace string, selector labels.Selector, out *external_metrics.ExternalMetricValueList,
) error {
	o, ok := p.directory.Object(Namespaces(), "", namespace)
	if !ok {
		return nil
	}
	for _, c := range o.Clusters {
		if !canMatch(selector, c.Name()) {
			continue
		}
		r, err := p.reading(c)
		if err != nil {
			return newUnavailable(c.String(), err)
		}
		for _, partition := range r.demand.Partitions {
			set := labels.Set{labelNamespace: namespace, labelCluster: c.Name(), labelPartition: partition.Name}
			if selector.Matches(set) {
				value := e.partitionsValue(partitionSelection{reading: r, partitions: []demand.Partition{partition}})
				out.Items = append(out.Items, newExternalValue(e, set, value, r))
			}
		}
	}
	return nil
}

// partitionsOf returns the names of the partitions of the clusters that can match the selector.
func (p *Provider) partitionsOf(namespace string, selector labels.Selector) (names []string) {
	o, _ := p.directory.Object(Namespaces(), "", namespace)
	for _, c := range o.Clusters {
		if r, err := p.reading(c); err == nil && canMatch(selector, c.Name()) {
			for _, partition := range r.demand.Partitions {
				names = append(names, partition.Name)
			}
		}
	}
	return names
}

// canMatch reports whether a series of the cluster can match the selector.
func canMatch(selector labels.Selector, cluster string) bool {
	requirements, _ := selector.Requirements()
	for _, q := range requirements {
		if q.Key() == labelCluster && !q.Matches(labels.Set{labelCluster: cluster}) {
			return false
		}
	}
	return true
}

func newExternalValue(e Entry, set labels.Set, value uint64, r *Reading) external_metrics.ExternalMetricValue {
	return external_metrics.ExternalMetricValue{
		MetricName: e.Name, MetricLabels: set, Timestamp: metav1.NewTime(r.ReadAt()), Value: *quantityOf(value),
	}
}

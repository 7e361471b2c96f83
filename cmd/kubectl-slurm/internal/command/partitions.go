package command

import (
	"cmp"
	"context"
	"slices"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
	"github.com/slurmtide/slurmtide/metricsapi"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
)

// readPartitions lists the partitions of the view with their metrics. Without the view, it lists
// the partitions of NodeSets and, for each cluster, one row for all partitions.
func readPartitions(ctx context.Context, api *observe.API, a tableRequest) (rowTable, []string, error) {
	rows, notes, err := listPartitionRows(ctx, api, a)
	if err != nil {
		return nil, notes, err
	}
	slices.SortStableFunc(rows, func(x, y partitionWithMetrics) int {
		return cmp.Or(cmp.Compare(x.row.Namespace, y.row.Namespace), cmp.Compare(x.row.Cluster, y.row.Cluster))
	})
	var questions []metricQuery
	for _, r := range rows {
		for _, metric := range top.PartitionMetrics() {
			questions = append(questions, r.query(metric))
		}
	}
	answers, errs := readMetrics(ctx, api, questions)
	out := make([]top.Partition, len(rows))
	for i, r := range rows {
		numbers := top.Numbers{}
		for _, metric := range top.PartitionMetrics() {
			if v, ok := answers[r.query(metric)]; ok {
				numbers[metric] = v
			}
		}
		r.row.Fill(numbers)
		out[i] = r.row
	}
	return top.Partitions(a.namespaces, out), append(notes, explainAll(observe.Metrics, errs)...), nil
}

// partitionWithMetrics is a row and the resource that has its metrics.
type partitionWithMetrics struct {
	row      top.Partition
	resource metricsapi.Resource
}

func (p *partitionWithMetrics) query(metric string) metricQuery {
	return metricQuery{of: p.resource, namespace: p.row.Namespace, name: p.row.Cluster, metric: metric,
		partition: p.row.Name}
}

func listPartitionRows(ctx context.Context, api *observe.API, a tableRequest) (
	[]partitionWithMetrics, []string, error) {
	if err := checkLabels(a.scope.Labels); err != nil {
		return nil, nil, err
	}
	list, err := api.Partitions(ctx, a.scope)
	if err == nil {
		var out []partitionWithMetrics
		for i := range list {
			p := &list[i]
			if a.inCluster(p.Spec.Cluster.Name) && a.matches(p.Spec.Name, p.Name) {
				out = append(out, partitionOf(p))
			}
		}
		return out, nil, nil
	}
	if isFatal(err) || a.scope.Labels != "" || a.scope.Fields != "" {
		return nil, nil, wrapReadError(observe.View, err)
	}
	out, objectsErr := partitionsOfObjects(ctx, api, a)
	if objectsErr != nil {
		return nil, []string{observe.ExplainError(observe.View, err)}, wrapReadError(observe.Objects, objectsErr)
	}
	return out, []string{observe.ExplainError(observe.View, err) +
		"; the table shows the partitions of NodeSets and the sums of each cluster"}, nil
}

func partitionOf(p *view.SlurmPartition) partitionWithMetrics {
	nodes, cpus := uint64(max(0, p.Status.TotalNodes)), uint64(max(0, p.Status.TotalCPUs))
	of := metricsapi.Clusters()
	if p.Spec.Cluster.Kind == metricsapi.Controllers().Kind {
		of = metricsapi.Controllers()
	}
	return partitionWithMetrics{resource: of, row: top.Partition{
		ClusterName: top.ClusterName{Namespace: p.Namespace, Cluster: p.Spec.Cluster.Name},
		Name:        p.Spec.Name, State: p.Status.State, Default: p.Spec.Default, Nodes: &nodes, CPUs: &cpus,
	}}
}

// partitionsOfObjects returns a row for each Controller and Cluster, and one for each NodeSet with
// a partition of its own.
func partitionsOfObjects(ctx context.Context, api *observe.API, a tableRequest) ([]partitionWithMetrics, error) {
	clusters, err := listClusterObjects(ctx, api, a.scope.Namespace)
	if err != nil {
		return nil, err
	}
	nodeSets, err := api.NodeSets(ctx, a.scope)
	if err != nil {
		return nil, err
	}
	var out []partitionWithMetrics
	for _, c := range clusters {
		if !a.inCluster(c.name) {
			continue
		}
		row := top.Partition{ClusterName: top.ClusterName{Namespace: c.namespace, Cluster: c.name}}
		if a.matches("") {
			out = append(out, partitionWithMetrics{row: row, resource: c.resource})
		}
		for i := range nodeSets {
			n := &nodeSets[i]
			if n.Namespace == c.namespace && top.ClusterOf(n) == c.name && n.Spec.Partition != nil &&
				n.Spec.Partition.Enabled && a.matches(n.Name) {
				own := row
				own.Name = n.Name
				out = append(out, partitionWithMetrics{row: own, resource: c.resource})
			}
		}
	}
	return out, nil
}

// clusterObject is a Controller or a Cluster.
type clusterObject struct {
	resource        metricsapi.Resource
	namespace, name string
}

// listClusterObjects lists Controllers and Clusters.
func listClusterObjects(ctx context.Context, api *observe.API, namespace string) ([]clusterObject, error) {
	controllers, err := api.Controllers(ctx, observe.Scope{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	clusters, err := api.Clusters(ctx, observe.Scope{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	var out []clusterObject
	for _, c := range controllers {
		out = append(out, clusterObject{metricsapi.Controllers(), c.Namespace, c.Name})
	}
	for _, c := range clusters {
		out = append(out, clusterObject{metricsapi.Clusters(), c.Namespace, c.Name})
	}
	return out, nil
}

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
func lookPartitions(ctx context.Context, api *observe.API, a asked) (printer, []string, error) {
	rows, notes, err := partitionRows(ctx, api, a)
	if err != nil {
		return nil, notes, err
	}
	slices.SortStableFunc(rows, func(x, y placedPartition) int {
		return cmp.Or(cmp.Compare(x.row.Namespace, y.row.Namespace), cmp.Compare(x.row.Cluster, y.row.Cluster))
	})
	var questions []question
	for _, r := range rows {
		for _, metric := range top.PartitionMetrics() {
			questions = append(questions, r.ask(metric))
		}
	}
	answers, errs := ask(ctx, api, questions)
	out := make([]top.Partition, len(rows))
	for i, r := range rows {
		numbers := top.Numbers{}
		for _, metric := range top.PartitionMetrics() {
			if v, ok := answers[r.ask(metric)]; ok {
				numbers[metric] = v
			}
		}
		r.row.Fill(numbers)
		out[i] = r.row
	}
	return top.Partitions(a.placed, out), append(notes, explainAll(observe.Metrics, errs)...), nil
}

// partitionWithMetrics is a row and the resource that has its metrics.
type placedPartition struct {
	row top.Partition
	of  metricsapi.Resource
}

func (p *placedPartition) ask(metric string) question {
	return question{of: p.of, namespace: p.row.Namespace, name: p.row.Cluster, metric: metric, partition: p.row.Name}
}

func partitionRows(ctx context.Context, api *observe.API, a asked) ([]placedPartition, []string, error) {
	list, err := api.Partitions(ctx, a.scope)
	if err == nil {
		var out []placedPartition
		for i := range list {
			p := &list[i]
			if a.inCluster(p.Spec.Cluster.Name) && a.named(p.Spec.Name, p.Name) {
				out = append(out, partitionOf(p))
			}
		}
		return out, nil, nil
	}
	if fatal(err) || a.scope.Labels != "" || a.scope.Fields != "" {
		return nil, nil, failed(observe.View, err)
	}
	out, objectsErr := partitionsOfObjects(ctx, api, a)
	if objectsErr != nil {
		return nil, []string{observe.Explain(observe.View, err)}, failed(observe.Objects, objectsErr)
	}
	return out, []string{observe.Explain(observe.View, err) +
		"; the table shows the partitions of NodeSets and the sums of each cluster"}, nil
}

func partitionOf(p *view.SlurmPartition) placedPartition {
	nodes, cpus := uint64(max(0, p.Status.TotalNodes)), uint64(max(0, p.Status.TotalCPUs))
	of := metricsapi.Clusters()
	if p.Spec.Cluster.Kind == metricsapi.Controllers().Kind {
		of = metricsapi.Controllers()
	}
	return placedPartition{of: of, row: top.Partition{
		ClusterName: top.ClusterName{Namespace: p.Namespace, Cluster: p.Spec.Cluster.Name},
		Name:        p.Spec.Name, State: p.Status.State, Default: p.Spec.Default, Nodes: &nodes, CPUs: &cpus,
	}}
}

// partitionsOfObjects returns a row for each Controller and Cluster, and one for each NodeSet with
// a partition of its own.
func partitionsOfObjects(ctx context.Context, api *observe.API, a asked) ([]placedPartition, error) {
	clusters, err := clusterObjects(ctx, api, a.scope.Namespace)
	if err != nil {
		return nil, err
	}
	nodeSets, err := api.NodeSets(ctx, a.scope)
	if err != nil {
		return nil, err
	}
	var out []placedPartition
	for _, c := range clusters {
		if !a.inCluster(c.name) {
			continue
		}
		row := top.Partition{ClusterName: top.ClusterName{Namespace: c.namespace, Cluster: c.name}}
		if a.named("") {
			out = append(out, placedPartition{row: row, of: c.of})
		}
		for i := range nodeSets {
			n := &nodeSets[i]
			if n.Namespace == c.namespace && top.ClusterOf(n) == c.name && n.Spec.Partition != nil &&
				n.Spec.Partition.Enabled && a.named(n.Name) {
				own := row
				own.Name = n.Name
				out = append(out, placedPartition{row: own, of: c.of})
			}
		}
	}
	return out, nil
}

// clusterObject is a Controller or a Cluster.
type clusterObject struct {
	of              metricsapi.Resource
	namespace, name string
}

// clusterObjects lists Controllers and Clusters.
func clusterObjects(ctx context.Context, api *observe.API, namespace string) ([]clusterObject, error) {
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

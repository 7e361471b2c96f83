package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/explain"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
)

// explainNodeCommand returns the command "explain node".
func (s *session) explainNodeCommand(output *string) *cobra.Command {
	p := &recordPlace{}
	cmd := &cobra.Command{
		Use:   "node NAME",
		Short: "Explains the state of a Slurm node: why it is drained, who did it, and when",
		Long: `Explains the state of a Slurm node: what it means for jobs, why the node is drained
or down, who set this and when, its worker pod, and its jobs. NAME is the name of the
node or of its worker pod. The command needs the view.`,
		Example:           "  kubectl slurm explain node gpu-0",
		Args:              oneArgument("the name of a Slurm node or of its worker pod"),
		ValidArgsFunction: s.completeNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.printExplanation(*output, func(api *observe.API, namespace string) (explanation, error) {
				return s.explainNode(cmd.Context(), api, p.request(namespace), args[0])
			})
		},
	}
	s.addPlaceFlags(cmd, p)
	return cmd
}

// explainPartitionCommand returns the command "explain partition".
func (s *session) explainPartitionCommand(output *string) *cobra.Command {
	p := &recordPlace{}
	cmd := &cobra.Command{
		Use:   "partition NAME",
		Short: "Explains a partition: its nodes, who may use it, and why its jobs wait",
		Long: `Explains a partition: what its state means for jobs, who may use it, the states of its
nodes, why nodes get no jobs, and why its jobs wait. The command needs the view.`,
		Example:           "  kubectl slurm explain partition gpu",
		Args:              oneArgument("the name of a partition"),
		ValidArgsFunction: s.completePartitions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.printExplanation(*output, func(api *observe.API, namespace string) (explanation, error) {
				return s.explainPartition(cmd.Context(), api, p.request(namespace), args[0])
			})
		},
	}
	s.addPlaceFlags(cmd, p)
	return cmd
}

// recordPlace is where to look for a record of Slurm.
type recordPlace struct {
	cluster       string
	allNamespaces bool
}

func (s *session) addPlaceFlags(cmd *cobra.Command, p *recordPlace) {
	cmd.Flags().StringVar(&p.cluster, "cluster", "", "Slurm cluster to look in: the name of its Controller or Cluster")
	cmd.Flags().BoolVarP(&p.allNamespaces, "all-namespaces", "A", false, "Look in all namespaces")
	_ = cmd.RegisterFlagCompletionFunc("cluster", s.completeClusters)
}

// request returns a request for the records of the place.
func (p *recordPlace) request(namespace string) *tableRequest {
	if p.allNamespaces {
		return &tableRequest{cluster: p.cluster, namespaces: top.ManyNamespaces}
	}
	return &tableRequest{cluster: p.cluster, namespaces: top.OneNamespace, scope: observe.Scope{Namespace: namespace}}
}

func (s *session) explainNode(ctx context.Context, api *observe.API, a *tableRequest, name string) (explanation, error) {
	names, err := findNodes(ctx, api, a, []string{name})
	if err != nil {
		return nil, err
	}
	if len(names) != 1 {
		return nil, fmt.Errorf("%q names %d nodes: explain one", name, len(names))
	}
	nodes, err := api.Nodes(ctx, observe.Scope{Namespace: a.scope.Namespace, Fields: "spec.name=" + names[0]})
	if err != nil {
		return nil, wrapReadError(observe.View, err)
	}
	var places []top.ClusterName
	for i := range nodes {
		if a.inCluster(nodes[i].Spec.Cluster.Name) {
			places = append(places, top.ClusterName{Namespace: nodes[i].Namespace, Cluster: nodes[i].Spec.Cluster.Name})
		}
	}
	place, err := onlyPlace("node", names[0], places)
	if err != nil {
		return nil, err
	}
	observed, err := s.observeRecords(ctx, api, place)
	if err != nil {
		return nil, err
	}
	for _, n := range observed.Slurm.Nodes {
		if n.Name == names[0] {
			var out explain.Node
			err := callForCluster(place.Namespace+"/"+place.Cluster,
				func() { out = explain.OfNode(observed, place.Namespace, place.Cluster, n) })
			return &out, err
		}
	}
	return nil, fmt.Errorf("node %s no longer exists", names[0])
}

func (s *session) explainPartition(ctx context.Context, api *observe.API, a *tableRequest, name string) (explanation, error) {
	list, err := api.Partitions(ctx, observe.Scope{Namespace: a.scope.Namespace})
	if err != nil {
		return nil, wrapReadError(observe.View, err)
	}
	if err := checkPartitionsIn(list, a, []string{name}); err != nil {
		return nil, err
	}
	var places []top.ClusterName
	for i := range list {
		if list[i].Spec.Name == name && a.inCluster(list[i].Spec.Cluster.Name) {
			places = append(places, top.ClusterName{Namespace: list[i].Namespace, Cluster: list[i].Spec.Cluster.Name})
		}
	}
	place, err := onlyPlace("partition", name, places)
	if err != nil {
		return nil, err
	}
	observed, err := s.observeRecords(ctx, api, place)
	if err != nil {
		return nil, err
	}
	for _, p := range observed.Slurm.Partitions {
		if p.Name == name {
			var out explain.Partition
			err := callForCluster(place.Namespace+"/"+place.Cluster,
				func() { out = explain.OfPartition(observed, place.Namespace, place.Cluster, p) })
			return &out, err
		}
	}
	return nil, fmt.Errorf("partition %s no longer exists", name)
}

// onlyPlace returns the only cluster that has a record, or an error with the flags that select one.
func onlyPlace(kind, name string, places []top.ClusterName) (top.ClusterName, error) {
	switch len(places) {
	case 0:
		return top.ClusterName{}, fmt.Errorf("%s %s no longer exists", kind, name)
	case 1:
		return places[0], nil
	}
	return top.ClusterName{}, fmt.Errorf("several clusters have a %s %s, such as %s/%s and %s/%s: select one with --namespace and "+
		"--cluster", kind, name, places[0].Namespace, places[0].Cluster, places[1].Namespace, places[1].Cluster)
}

// observeRecords reads the view of a cluster and the pods of its workers.
func (s *session) observeRecords(ctx context.Context, api *observe.API, place top.ClusterName) (*explain.Observation, error) {
	observed := &explain.Observation{Now: s.now()}
	var err error
	if observed.Slurm, err = readSlurm(ctx, api, place.Namespace, place.Cluster); err != nil {
		return nil, wrapReadError(observe.View, err)
	}
	if observed.Pods, err = listWorkerPods(ctx, api, place.Namespace, ""); err != nil {
		observed.Gaps = append(observed.Gaps, observe.ExplainError(observe.Workers, err)+"; the worker pods are unknown")
	}
	return observed, nil
}

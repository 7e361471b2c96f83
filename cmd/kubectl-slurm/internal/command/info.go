package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/info"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
	"github.com/slurmtide/slurmtide/metricsapi/view/convert"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
)

// infoFlags are the flags of info that sinfo has too.
type infoFlags struct {
	summary, byNode, reasons bool
	partitions               []string
}

// infoCommand returns the command "info".
func (s *session) infoCommand() *cobra.Command {
	f, i := &topFlags{}, &infoFlags{}
	cmd := &cobra.Command{
		Use:        "info",
		SuggestFor: []string{"sinfo", "node", "nodes", "partition", "partitions", "get", "status"},
		Short:      "Shows partitions and nodes with the options, columns and rows of sinfo",
		Long: `Shows partitions and nodes with the options, columns and rows of sinfo. Several
clusters have one table each. The command needs the view.

Before API v0.0.43 slurmrestd does not report which partition is the default one, so
that no partition of Slurm 24.11 has a star.`,
		Example: "  kubectl slurm info\n  kubectl slurm info -R\n  kubectl slurm info -N -p gpu",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.printTable(cmd.Context(), f, rowNoun{plural: "partitions", singular: "partition"}, nil, i.read)
		},
	}
	flags := cmd.Flags()
	s.addTableFlags(cmd, flags, f)
	flags.BoolVar(&f.watch, "watch", false, watchUsage)
	flags.BoolVarP(&i.summary, "summarize", "s", false, "Show one row for each partition")
	flags.BoolVarP(&i.byNode, "Node", "N", false, "Show one row for each node and partition")
	flags.BoolVarP(&i.reasons, "list-reasons", "R", false, "Show why nodes are drained, down or failing, who set it, and when")
	flags.StringSliceVarP(&i.partitions, "partition", "p", nil, "Partitions to show")
	// -s is kubectl's letter for --server.
	flags.StringVar(s.kube.APIServer, "server", *s.kube.APIServer, "The address and port of the Kubernetes API server")
	_ = flags.MarkHidden("server")
	registerColumns(cmd, info.Table(info.ByState, nil).ColumnNames())
	_ = cmd.RegisterFlagCompletionFunc("partition", s.completePartitions)
	cmd.MarkFlagsMutuallyExclusive("summarize", "Node", "list-reasons")
	return cmd
}

func (i *infoFlags) style() info.Style {
	switch {
	case i.summary:
		return info.Summary
	case i.byNode:
		return info.ByNode
	case i.reasons:
		return info.Reasons
	}
	return info.ByState
}

// read reads the table.
func (i *infoFlags) read(ctx context.Context, api *observe.API, a tableRequest) (rowTable, []string, error) {
	if err := checkLabels(a.scope.Labels); err != nil {
		return nil, nil, err
	}
	partitions, err := api.Partitions(ctx, observe.Scope{Namespace: a.scope.Namespace})
	if err != nil {
		return nil, nil, wrapReadError(observe.View, err)
	}
	if err := checkPartitionsIn(partitions, &a, i.partitions); err != nil {
		return nil, nil, err
	}
	nodes, err := api.Nodes(ctx, a.scope)
	if err != nil {
		return nil, nil, wrapReadError(observe.View, err)
	}
	clusters := clustersOf(partitions, nodes, &a, i.partitions)
	t, err := makeTable(clusters, func(c *info.Cluster) string { return c.Namespace + "/" + c.Name },
		func(part []info.Cluster) rowTable {
			out := &clusterTables[info.Row]{
				clusterOf: func(r *info.Row) top.ClusterName { return top.ClusterName{Namespace: r.Namespace, Cluster: r.Cluster} },
				table:     func(rows []info.Row) *table.Table[info.Row] { return info.Table(i.style(), rows) },
			}
			for k := range part {
				out.rows = append(out.rows, part[k].Rows(i.style(), time.Local)...)
			}
			return out
		})
	return t, nil, err
}

// clustersOf returns the requested clusters with their nodes and their requested partitions.
func clustersOf(partitions []view.SlurmPartition, nodes []view.SlurmNode, a *tableRequest, names []string) []info.Cluster {
	var out []info.Cluster
	at := map[top.ClusterName]int{}
	find := func(namespace, name string) *info.Cluster {
		key := top.ClusterName{Namespace: namespace, Cluster: name}
		i, known := at[key]
		if !known {
			i, at[key] = len(out), len(out)
			out = append(out, info.Cluster{Namespace: namespace, Name: name})
		}
		return &out[i]
	}
	for i := range partitions {
		p := &partitions[i]
		if a.inCluster(p.Spec.Cluster.Name) && isWanted(names, p.Spec.Name) {
			c := find(p.Namespace, p.Spec.Cluster.Name)
			c.Partitions = append(c.Partitions, convert.PartitionRecord(p))
		}
	}
	for i := range nodes {
		n := &nodes[i]
		if a.inCluster(n.Spec.Cluster.Name) {
			c := find(n.Namespace, n.Spec.Cluster.Name)
			c.Nodes = append(c.Nodes, convert.NodeRecord(n))
		}
	}
	return out
}

package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/records"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/metricsapi/view/convert"
)

// completionTimeout is the time limit of a completion.
const completionTimeout = 3 * time.Second

// completeClusters completes names of Controllers and Clusters.
func (s *session) completeClusters(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return s.completeNames(cmd, func(ctx context.Context, api *observe.API, namespace string) []string {
		clusters, _ := listClusterObjects(ctx, api, namespace)
		var out []string
		for _, c := range clusters {
			out = append(out, c.name)
		}
		return out
	})
}

// completeNodeSets completes names of NodeSets.
func (s *session) completeNodeSets(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.completeNames(cmd, func(ctx context.Context, api *observe.API, namespace string) []string {
		nodeSets, _ := api.NodeSets(ctx, observe.Scope{Namespace: namespace})
		var out []string
		for _, n := range nodeSets {
			out = append(out, n.Name)
		}
		return out
	})
}

// completeNames reads the candidates. On an error there are none.
func (s *session) completeNames(
	cmd *cobra.Command, words func(ctx context.Context, api *observe.API, namespace string) []string,
) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	api, err := s.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	namespace, err := s.namespace()
	if all := cmd.Flags().Lookup("all-namespaces"); all != nil && all.Value.String() == "true" {
		namespace = ""
	}
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return words(ctx, api, namespace), cobra.ShellCompDirectiveNoFileComp
}

// completeJobs completes IDs of jobs.
func (s *session) completeJobs(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return s.completeNames(cmd, func(ctx context.Context, api *observe.API, namespace string) []string {
		jobs, _ := api.Jobs(ctx, observe.Scope{Namespace: namespace})
		out := make([]string, len(jobs))
		for i := range jobs {
			out[i] = records.JobID(convert.JobRecord(&jobs[i])) + "\t" + table.Clean(jobs[i].Spec.Name)
		}
		return out
	})
}

// completeNodes completes names of Slurm nodes.
func (s *session) completeNodes(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return s.completeNames(cmd, func(ctx context.Context, api *observe.API, namespace string) []string {
		nodes, _ := api.Nodes(ctx, observe.Scope{Namespace: namespace})
		out := make([]string, len(nodes))
		for i := range nodes {
			out[i] = nodes[i].Spec.Name
		}
		return out
	})
}

// completePartitions completes names of partitions.
func (s *session) completePartitions(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return s.completeNames(cmd, func(ctx context.Context, api *observe.API, namespace string) []string {
		partitions, _ := api.Partitions(ctx, observe.Scope{Namespace: namespace})
		out := make([]string, len(partitions))
		for i := range partitions {
			out[i] = partitions[i].Spec.Name
		}
		return out
	})
}

// registerColumns completes the columns of --sort-by, also with a minus sign.
func registerColumns(cmd *cobra.Command, names []string) {
	registerCompletion(cmd, "sort-by", columnWords(names)...)
}

func columnWords(names []string) []string {
	var words []string
	for _, name := range names {
		words = append(words, name, "-"+name)
	}
	return words
}

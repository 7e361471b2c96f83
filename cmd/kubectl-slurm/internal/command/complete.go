package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
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

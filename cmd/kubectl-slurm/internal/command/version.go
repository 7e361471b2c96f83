package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// versions are the versions of the programs.
type versions struct {
	Plugin string `json:"plugin"`
	// Adapter is empty if it could not be read.
	Adapter  string           `json:"adapter,omitempty"`
	Clusters []clusterVersion `json:"clusters"`
	Gaps     []string         `json:"gaps,omitempty"`
}

// clusterVersion are the versions of Slurm in a cluster.
type clusterVersion struct {
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	// Slurm is the version of slurmrestd, as the status of a Cluster reports it.
	Slurm string `json:"slurm,omitempty"`
	// Slurmd are the versions of slurmd on the nodes.
	Slurmd []string `json:"slurmd,omitempty"`
}

// versionCommand returns the command "version".
func (s *session) versionCommand() *cobra.Command {
	var output string
	var all bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Shows the versions of the plugin, the adapter and Slurm",
		Example: "  kubectl slurm version --all-namespaces",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.printExplanation(output, func(api *observe.API, namespace string) (explanation, error) {
				if all {
					namespace = ""
				}
				return s.readVersions(cmd.Context(), api, namespace), nil
			})
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", table.Usage(table.ObjectFormats()))
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "Show the clusters of all namespaces")
	registerCompletion(cmd, "output", table.ObjectFormats()...)
	return cmd
}

// readVersions reads what the user may read. Everything else is a gap.
func (s *session) readVersions(ctx context.Context, api *observe.API, namespace string) *versions {
	out := &versions{Plugin: s.version}
	note := func(part observe.Part, err error) {
		if err != nil {
			out.Gaps = append(out.Gaps, observe.ExplainError(part, err))
		}
	}
	var err error
	out.Adapter, err = api.AdapterVersion(ctx)
	note(observe.View, err)
	clusters, err := api.Clusters(ctx, observe.Scope{Namespace: namespace})
	note(observe.Objects, err)
	nodes, err := api.Nodes(ctx, observe.Scope{Namespace: namespace})
	if out.Adapter != "" {
		note(observe.View, err)
	}
	out.Clusters = versionsOf(clusters, nodes)
	return out
}

// versionsOf returns the versions of each cluster.
func versionsOf(clusters []v1beta1.Cluster, nodes []view.SlurmNode) []clusterVersion {
	out := []clusterVersion{}
	find := func(namespace, name string) *clusterVersion {
		i := slices.IndexFunc(out, func(c clusterVersion) bool { return c.Namespace == namespace && c.Cluster == name })
		if i < 0 {
			i, out = len(out), append(out, clusterVersion{Namespace: namespace, Cluster: name})
		}
		return &out[i]
	}
	for i := range clusters {
		find(clusters[i].Namespace, clusters[i].Name).Slurm = clusters[i].Status.SlurmVersion
	}
	for i := range nodes {
		c, version := find(nodes[i].Namespace, nodes[i].Spec.Cluster.Name), nodes[i].Status.Version
		if version != "" && !slices.Contains(c.Slurmd, version) {
			c.Slurmd = append(c.Slurmd, version)
		}
	}
	for i := range out {
		slices.Sort(out[i].Slurmd)
	}
	slices.SortFunc(out, func(a, b clusterVersion) int {
		return strings.Compare(a.Namespace+"/"+a.Cluster, b.Namespace+"/"+b.Cluster)
	})
	return out
}

// Write writes the versions as text for people.
func (v *versions) Write(w io.Writer) error {
	var out strings.Builder
	line := func(name, version string) {
		if version == "" {
			version = table.Unknown
		}
		fmt.Fprintf(&out, "%-23s %s\n", name, table.Clean(version))
	}
	line("kubectl-slurm", v.Plugin)
	line("slurm-metrics-adapter", v.Adapter)
	for _, c := range v.Clusters {
		text := c.Slurm
		if len(c.Slurmd) > 0 {
			text = strings.TrimSpace(text + " slurmd " + strings.Join(c.Slurmd, ", "))
		}
		line("Slurm "+c.Namespace+"/"+c.Cluster, text)
	}
	for _, gap := range v.Gaps {
		fmt.Fprintf(&out, "note: %s\n", table.Clean(gap))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

package command

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/explain"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/records"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
)

// explain is the command "explain".
func (s *session) explain() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Explains why a NodeSet has so many workers, or why a job waits",
	}
	group(cmd)
	cmd.PersistentFlags().StringVarP(&output, "output", "o", "", "Output format: json or yaml")
	complete(cmd, "output", string(table.JSON), string(table.YAML))
	cmd.AddCommand(s.jobExplainer(&output), s.nodeSetExplainer(&output))
	return cmd
}

// jobExplainer is the command "explain job".
func (s *session) jobExplainer(output *string) *cobra.Command {
	var cluster string
	var all bool
	job := &cobra.Command{
		Use:     "job ID",
		Short:   "Explains why a job waits, and whether more workers would help",
		Long:    "Explains why a job waits, whether more workers would help, which NodeSets could\nserve it, and how many workers these would need. ID is as squeue prints it: 7, 7_3\nfor a task of an array, 8+1 for a part of a heterogeneous job. It needs the view.",
		Example: "  kubectl slurm explain job 1234\n  kubectl slurm explain job 77_3 --cluster=alpha",
		Args:    oneArgument("the job's id, such as 7, 7_3 or 8+1"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.print(*output, func(api *observe.API, namespace string) (explained, error) {
				if all {
					namespace = ""
				}
				return s.explainJob(cmd.Context(), api, namespace, cluster, args[0])
			})
		},
	}
	job.Flags().StringVar(&cluster, "cluster", "", "Slurm cluster that has the job: the name of its Controller or Cluster")
	job.Flags().BoolVarP(&all, "all-namespaces", "A", false, "Look for the job in all namespaces")
	_ = job.RegisterFlagCompletionFunc("cluster", s.completeClusters)
	return job
}

// nodeSetExplainer is the command "explain nodeset".
func (s *session) nodeSetExplainer(output *string) *cobra.Command {
	return &cobra.Command{
		Use:   "nodeset NAME",
		Short: "Explains why a NodeSet has as many workers as it has",
		Long: `Explains what the number of required workers is made of, what the HPA makes of
it, what keeps the NodeSet from having as many, and which workers a scale-in would
take next, and until when it would wait for them.`,
		Example:           "  kubectl slurm explain nodeset gpu",
		Args:              oneArgument("the NodeSet's name"),
		ValidArgsFunction: s.completeNodeSets,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.print(*output, func(api *observe.API, namespace string) (explained, error) {
				return s.explainNodeSet(cmd.Context(), api, namespace, args[0])
			})
		},
	}
}

// oneArgument refuses all but one argument, in words that tell what it is.
func oneArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fmt.Errorf("%s takes one argument, %s, not %d", cmd.CommandPath(), what, len(args))
	}
}

// explained is an explanation.
type explained interface{ Write(w io.Writer) error }

func (s *session) print(output string, of func(api *observe.API, namespace string) (explained, error)) error {
	format, err := table.ParseFormat(output)
	if err != nil || format == table.Wide || format == table.Names {
		return fmt.Errorf("-o takes json or yaml, not %q", output)
	}
	api, err := s.api()
	if err != nil {
		return err
	}
	namespace, err := s.namespace()
	if err != nil {
		return err
	}
	e, err := of(api, namespace)
	s.notes(api.Warned())
	switch {
	case err != nil:
		return err
	case format == table.Plain:
		return e.Write(s.streams.Out)
	}
	return table.PrintObject(s.streams.Out, format, e)
}

func (s *session) explainNodeSet(ctx context.Context, api *observe.API, namespace, name string) (explained, error) {
	seen, err := s.see(ctx, api, namespace)
	if err != nil {
		return nil, err
	}
	cluster := ""
	for i := range seen.NodeSets {
		if n := &seen.NodeSets[i]; n.Name == name {
			cluster = top.ClusterOf(n)
			numbers, notes := numbersOf(ctx, api, seen.NodeSets[i:i+1])
			seen.Numbers = map[string]top.Numbers{name: numbers[namespace+"/"+name]}
			seen.Gaps = append(seen.Gaps, notes...)
		}
	}
	if seen.Pods, err = workers(ctx, api, namespace, name); err != nil {
		seen.Gaps = append(seen.Gaps, observe.Explain(observe.Workers, err)+"; who would go in a scale-in is not told")
	}
	if seen.Slurm, err = readSlurm(ctx, api, namespace, cluster); err != nil {
		seen.Gaps = append(seen.Gaps, observe.Explain(observe.View, err)+"; the parts that have no metric are not told")
	}
	var out explain.NodeSet
	var there bool
	if err := guardCluster(namespace+"/"+cluster, func() { out, there = explain.OfNodeSet(seen, name) }); err != nil {
		return nil, err
	}
	if !there {
		return nil, fmt.Errorf("there is no NodeSet %s in namespace %s", name, namespace)
	}
	return &out, nil
}

// see reads what both explanations need.
func (s *session) see(ctx context.Context, api *observe.API, namespace string) (*explain.Seen, error) {
	seen := &explain.Seen{Now: s.now()}
	var err error
	if seen.NodeSets, err = api.NodeSets(ctx, observe.Scope{Namespace: namespace}); err != nil {
		return nil, failed(observe.Objects, err)
	}
	seen.Autoscalers, seen.Gaps = autoscalers(ctx, api, observe.Scope{Namespace: namespace})
	return seen, nil
}

// readSlurm reads what the view shows of one cluster.
func readSlurm(ctx context.Context, api *observe.API, namespace, cluster string) (*explain.Slurm, error) {
	scope := observe.Scope{Namespace: namespace, Fields: view.FieldCluster + "=" + cluster}
	partitions, err := api.Partitions(ctx, scope)
	if err != nil {
		return nil, err
	}
	nodes, err := api.Nodes(ctx, scope)
	if err != nil {
		return nil, err
	}
	jobs, err := api.Jobs(ctx, scope)
	if err != nil {
		return nil, err
	}
	return explain.SlurmOf(jobs, nodes, partitions), nil
}

func (s *session) explainJob(ctx context.Context, api *observe.API, namespace, cluster, id string) (explained, error) {
	found, err := findJob(ctx, api, namespace, cluster, id)
	if err != nil {
		return nil, err
	}
	namespace = found.Namespace
	seen, err := s.see(ctx, api, namespace)
	if err != nil {
		return nil, err
	}
	cluster = found.Spec.Cluster.Name
	if seen.Slurm, err = readSlurm(ctx, api, namespace, cluster); err != nil {
		return nil, failed(observe.View, err)
	}
	for _, j := range seen.Slurm.Jobs {
		if int64(j.ID) == found.Spec.JobID {
			var out explain.Job
			err := guardCluster(namespace+"/"+cluster, func() { out = explain.OfJob(seen, namespace, cluster, j) })
			return &out, err
		}
	}
	return nil, fmt.Errorf("job %s has just gone", id)
}

// findJob finds the one job of an id.
func findJob(ctx context.Context, api *observe.API, namespace, cluster, id string) (*view.SlurmJob, error) {
	first := id
	if i := strings.IndexAny(id, "_+"); i >= 0 {
		first = id[:i]
	}
	if _, err := strconv.ParseUint(first, 10, 32); err != nil {
		return nil, fmt.Errorf("%q is no id of a job: they are such as 7, 7_3 and 8+1", id)
	}
	field := view.FieldJobID
	if strings.Contains(id, "_") {
		field = view.FieldArrayJobID
	}
	var fits []view.SlurmJob
	jobs, err := api.Jobs(ctx, observe.Scope{Namespace: namespace, Fields: field + "=" + first})
	if err != nil {
		return nil, failed(observe.View, err)
	}
	for i := range jobs {
		if (cluster == "" || jobs[i].Spec.Cluster.Name == cluster) && isJob(&jobs[i], id, first) {
			fits = append(fits, jobs[i])
		}
	}
	switch len(fits) {
	case 0:
		if namespace == "" {
			return nil, fmt.Errorf("there is no job %s in any namespace that you may see", id)
		}
		return nil, fmt.Errorf("there is no job %s in namespace %s that you may see; --all-namespaces looks everywhere", id, namespace)
	case 1:
		return &fits[0], nil
	}
	return nil, fmt.Errorf("there are several jobs %s, one in Slurm cluster %s/%s and one in %s/%s: name one with --namespace and --cluster",
		id, fits[0].Namespace, fits[0].Spec.Cluster.Name, fits[1].Namespace, fits[1].Spec.Cluster.Name)
}

// isJob reports whether a job has the id. A task that has not been split off is in the
// record of its array.
func isJob(v *view.SlurmJob, id, first string) bool {
	j := records.Job(v)
	return strconv.FormatInt(v.Spec.JobID, 10) == id || records.JobID(j) == id ||
		strings.HasPrefix(id, first+"_") && j.IsArrayBase() && records.Stands(j, strings.TrimPrefix(id, first+"_"))
}

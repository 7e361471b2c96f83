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
	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/metricsapi/view/convert"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// explainCommand returns the command "explain".
func (s *session) explainCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:        "explain",
		SuggestFor: []string{"describe", "why", "show", "scontrol"},
		Short:      "Explains NodeSets, jobs, Slurm nodes and partitions",
	}
	requireSubcommand(cmd)
	cmd.PersistentFlags().StringVarP(&output, "output", "o", "", table.Usage(table.ObjectFormats()))
	registerCompletion(cmd, "output", table.ObjectFormats()...)
	cmd.AddCommand(s.explainJobCommand(&output), s.explainNodeSetCommand(&output), s.explainNodeCommand(&output),
		s.explainPartitionCommand(&output))
	return cmd
}

// explainJobCommand returns the command "explain job".
func (s *session) explainJobCommand(output *string) *cobra.Command {
	var cluster string
	var all bool
	job := &cobra.Command{
		Use:   "job ID",
		Short: "Explains why a job waits, and whether more workers would help",
		Long: "Explains why a job waits, whether more workers would help, which NodeSets could\nrun it, and how " +
			"many workers they would need. ID is the ID that squeue prints: 7,\n7_3 for an array task, 8+1 for a " +
			"component of a heterogeneous job. The command\nneeds the view.",
		Example:           "  kubectl slurm explain job 1234\n  kubectl slurm explain job 77_3 --cluster=alpha",
		Args:              oneArgument("the job ID, such as 7, 7_3 or 8+1"),
		ValidArgsFunction: s.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.printExplanation(*output, func(api *observe.API, namespace string) (explanation, error) {
				if all {
					namespace = ""
				}
				return s.explainJob(cmd.Context(), api, namespace, cluster, args[0])
			})
		},
	}
	job.Flags().StringVar(&cluster, "cluster", "", "Slurm cluster of the job: the name of its Controller or Cluster")
	job.Flags().BoolVarP(&all, "all-namespaces", "A", false, "Look for the job in all namespaces")
	_ = job.RegisterFlagCompletionFunc("cluster", s.completeClusters)
	return job
}

// explainNodeSetCommand returns the command "explain nodeset".
func (s *session) explainNodeSetCommand(output *string) *cobra.Command {
	return &cobra.Command{
		Use:   "nodeset NAME",
		Short: "Explains the number of workers of a NodeSet",
		Long: `Explains how the number of required workers is computed, how the HPA responds, what
keeps the NodeSet from that number, which workers a scale-in would delete next, and
how long it would wait for them.`,
		Example:           "  kubectl slurm explain nodeset gpu",
		Args:              oneArgument("the NodeSet's name"),
		ValidArgsFunction: s.completeNodeSets,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.printExplanation(*output, func(api *observe.API, namespace string) (explanation, error) {
				return s.explainNodeSet(cmd.Context(), api, namespace, args[0])
			})
		},
	}
}

// oneArgument requires exactly one argument. what describes it in the error.
func oneArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fmt.Errorf("%s takes one argument, %s, not %d", cmd.CommandPath(), what, len(args))
	}
}

// explanation can be written as text for people.
type explanation interface{ Write(w io.Writer) error }

func (s *session) printExplanation(output string, of func(api *observe.API, namespace string) (
	explanation, error)) error {
	format, err := table.ParseObjectFormat(output)
	if err != nil {
		return err
	}
	api, err := s.connect()
	if err != nil {
		return err
	}
	namespace, err := s.namespace()
	if err != nil {
		return err
	}
	e, err := of(api, namespace)
	s.printNotes(api.TakeWarnings())
	switch {
	case err != nil:
		return err
	case format == table.Plain:
		return e.Write(s.streams.Out)
	}
	return table.PrintObject(s.streams.Out, format, e)
}

func (s *session) explainNodeSet(ctx context.Context, api *observe.API, namespace, name string) (explanation, error) {
	observed, err := s.observeNodeSets(ctx, api, namespace)
	if err != nil {
		return nil, err
	}
	cluster := ""
	for i := range observed.NodeSets {
		if n := &observed.NodeSets[i]; n.Name == name {
			cluster = top.ClusterOf(n)
			observed.Gaps = append(observed.Gaps,
				addMetrics(ctx, api, observed, observed.NodeSets[i:i+1], explain.NodeSetMetrics())...)
		}
	}
	if observed.Pods, err = listWorkerPods(ctx, api, namespace, name); err != nil {
		observed.Gaps = append(observed.Gaps,
			observe.ExplainError(observe.Workers, err)+"; the workers that a scale-in would delete are unknown")
	}
	if observed.Slurm, err = readSlurm(ctx, api, namespace, cluster); err != nil {
		observed.Gaps = append(observed.Gaps,
			observe.ExplainError(observe.View, err)+"; the pending jobs are unknown")
	}
	var out explain.NodeSet
	var there bool
	if err := callForCluster(namespace+"/"+cluster,
		func() { out, there = explain.OfNodeSet(observed, name) }); err != nil {
		return nil, err
	}
	if !there {
		return nil, fmt.Errorf("NodeSet %s does not exist in namespace %s", name, namespace)
	}
	return &out, nil
}

// observeNodeSets reads what both explanations need.
func (s *session) observeNodeSets(ctx context.Context, api *observe.API, namespace string) (
	*explain.Observation, error) {
	observed := &explain.Observation{Now: s.now()}
	var err error
	if observed.NodeSets, err = api.NodeSets(ctx, observe.Scope{Namespace: namespace}); err != nil {
		return nil, wrapReadError(observe.Objects, err)
	}
	observed.Autoscalers, observed.Gaps = listAutoscalers(ctx, api, observe.Scope{Namespace: namespace})
	return observed, nil
}

// addMetrics reads metrics of NodeSets of one namespace, and returns notes about those that could not be read.
func addMetrics(
	ctx context.Context, api *observe.API, observed *explain.Observation, nodeSets []v1beta1.NodeSet, metrics []string,
) []string {
	numbers, notes := readNodeSetMetrics(ctx, api, nodeSets, metrics)
	observed.Numbers = map[string]top.Numbers{}
	for i := range nodeSets {
		n := &nodeSets[i]
		observed.Numbers[n.Name] = numbers[metricsapi.PoolName(n.Namespace, n.Name)]
	}
	return notes
}

// readSlurm reads the view of one cluster.
func readSlurm(ctx context.Context, api *observe.API, namespace, cluster string) (*explain.SlurmRecords, error) {
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
	return explain.NewSlurmRecords(jobs, nodes, partitions), nil
}

func (s *session) explainJob(ctx context.Context, api *observe.API, namespace, cluster, id string) (
	explanation, error) {
	found, err := findJob(ctx, api, namespace, cluster, id)
	if err != nil {
		return nil, err
	}
	namespace = found.Namespace
	observed, err := s.observeNodeSets(ctx, api, namespace)
	if err != nil {
		return nil, err
	}
	cluster = found.Spec.Cluster.Name
	if observed.Slurm, err = readSlurm(ctx, api, namespace, cluster); err != nil {
		return nil, wrapReadError(observe.View, err)
	}
	for _, j := range observed.Slurm.Jobs {
		if int64(j.ID) == found.Spec.JobID {
			if j.State.Base == slurm.JobPending {
				for _, note := range addMetrics(ctx, api, observed, nodeSetsOf(observed.NodeSets, cluster), explain.JobMetrics()) {
					observed.Gaps = append(observed.Gaps, note+"; the numbers of workers leave out the idle grace")
				}
			}
			var out explain.Job
			err := callForCluster(namespace+"/"+cluster,
				func() { out = explain.OfJob(observed, namespace, cluster, j) })
			return &out, err
		}
	}
	return nil, fmt.Errorf("job %s no longer exists", id)
}

// nodeSetsOf returns the NodeSets that join the cluster.
func nodeSetsOf(nodeSets []v1beta1.NodeSet, cluster string) []v1beta1.NodeSet {
	var out []v1beta1.NodeSet
	for i := range nodeSets {
		if top.ClusterOf(&nodeSets[i]) == cluster {
			out = append(out, nodeSets[i])
		}
	}
	return out
}

// findJob returns the job with an ID. It fails unless exactly one job matches.
func findJob(ctx context.Context, api *observe.API, namespace, cluster, id string) (*view.SlurmJob, error) {
	first := id
	if i := strings.IndexAny(id, "_+"); i >= 0 {
		first = id[:i]
	}
	if _, err := strconv.ParseUint(first, 10, 32); err != nil {
		return nil, fmt.Errorf("%q is not a job ID such as 7, 7_3 or 8+1", id)
	}
	fields := view.FieldJobID + "=" + first
	switch {
	case strings.Contains(id, "_"):
		fields = view.FieldArrayJobID + "=" + first
	case strings.Contains(id, "+"):
		fields = "" // components of a heterogeneous job have IDs of their own
	}
	var fits []view.SlurmJob
	jobs, err := api.Jobs(ctx, observe.Scope{Namespace: namespace, Fields: fields})
	if err != nil {
		return nil, wrapReadError(observe.View, err)
	}
	for i := range jobs {
		if (cluster == "" || jobs[i].Spec.Cluster.Name == cluster) && hasJobID(&jobs[i], id, first) {
			fits = append(fits, jobs[i])
		}
	}
	switch len(fits) {
	case 0:
		if namespace == "" {
			return nil, fmt.Errorf("you can see no job %s in any namespace", id)
		}
		return nil, fmt.Errorf("you can see no job %s in namespace %s; --all-namespaces searches all namespaces", id,
			namespace)
	case 1:
		return &fits[0], nil
	}
	return nil, fmt.Errorf("several clusters have a job %s, such as %s/%s and %s/%s: select one with --namespace "+
		"and --cluster",
		id, fits[0].Namespace, fits[0].Spec.Cluster.Name, fits[1].Namespace, fits[1].Spec.Cluster.Name)
}

// hasJobID reports whether a job has the ID. A task that is not split off yet belongs to the record
// of its array.
func hasJobID(v *view.SlurmJob, id, first string) bool {
	j := convert.JobRecord(v)
	return strconv.FormatInt(v.Spec.JobID, 10) == id || records.JobID(j) == id ||
		strings.HasPrefix(id, first+"_") && j.IsArrayBase() && records.HasTask(j, strings.TrimPrefix(id, first+"_"))
}

package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/metricsapi/view/convert"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
)

// actionTarget is an object of the view to act on.
type actionTarget struct {
	object observe.Object
	shown  string
	spec   view.SlurmActionSpec
}

// actionNote is a paragraph in the help of each action.
const actionNote = `

The adapter must serve actions (view.actions.enabled of the chart slurm-metrics), and you
need the role slurm-act or slurm-act-all. The adapter logs the action with your name.`

// nodeActionCommand returns a command that acts on nodes.
func (s *session) nodeActionCommand(verb, short, long string, suggest ...string) *cobra.Command {
	p, spec := &recordPlace{}, view.SlurmActionSpec{}
	cmd := &cobra.Command{
		Use: verb + " NODE...", SuggestFor: suggest, Short: short,
		Long:              long + " NODE is a node, a hostlist such as\ngpu-[0-3], or a worker pod." + actionNote,
		Example:           "  kubectl slurm " + verb + " gpu-0",
		Args:              someArguments("nodes, hostlists or worker pods"),
		ValidArgsFunction: s.completeNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.act(cmd.Context(), p, verb, func(ctx context.Context, api *observe.API, a *tableRequest) ([]actionTarget, error) {
				return findNodeTargets(ctx, api, a, args, spec)
			})
		},
	}
	s.addPlaceFlags(cmd, p)
	if verb == view.ActionDrain {
		cmd.Example += " --reason='bad disk'"
		cmd.Flags().StringVar(&spec.Reason, "reason", "", "Why; Slurm shows it with your name")
		_ = cmd.MarkFlagRequired("reason")
	}
	return cmd
}

// jobActionCommand returns a command that acts on jobs.
func (s *session) jobActionCommand(verb, short string, suggest ...string) *cobra.Command {
	p := &recordPlace{}
	cmd := &cobra.Command{
		Use: verb + " JOB...", SuggestFor: suggest, Short: short,
		Long: short + `. JOB is an ID as squeue prints it. The ID of an array
stands for none of its tasks: name each of them, such as 77_3.` + actionNote,
		Example:           "  kubectl slurm " + verb + " 1234 77_3",
		Args:              someArguments("job IDs, such as 7 or 7_3"),
		ValidArgsFunction: s.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.act(cmd.Context(), p, verb, func(ctx context.Context, api *observe.API, a *tableRequest) ([]actionTarget, error) {
				return findJobTargets(ctx, api, a, args)
			})
		},
	}
	s.addPlaceFlags(cmd, p)
	return cmd
}

// actionCommands returns the commands that change Slurm.
func (s *session) actionCommands() []*cobra.Command {
	return []*cobra.Command{
		s.nodeActionCommand(view.ActionDrain, "Drains Slurm nodes: their jobs continue, and they get no new ones",
			"Drains Slurm nodes: their jobs continue, and they get no new ones. A node that somebody\nelse drained keeps its reason.", "cordon", "down"),
		s.nodeActionCommand(view.ActionResume, "Returns drained or down Slurm nodes to service",
			"Returns drained or down Slurm nodes to service, but not nodes that slurm-operator drained.", "undrain", "uncordon"),
		s.jobActionCommand(view.ActionCancel, "Cancels jobs", "scancel", "kill", "delete"),
		s.jobActionCommand(view.ActionHold, "Holds pending jobs", "suspend", "pause"),
		s.jobActionCommand(view.ActionRelease, "Releases held jobs", "unhold"),
	}
}

// someArguments requires at least one argument. what describes them in the error.
func someArguments(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return fmt.Errorf("%s takes %s", cmd.CommandPath(), what)
	}
}

// act finds all objects before it acts on the first one. It tries each of them and returns all errors.
func (s *session) act(ctx context.Context, p *recordPlace, verb string,
	find func(ctx context.Context, api *observe.API, a *tableRequest) ([]actionTarget, error)) error {
	api, err := s.connect()
	if err != nil {
		return err
	}
	namespace, err := s.namespace()
	if err != nil {
		return err
	}
	targets, err := find(ctx, api, p.request(namespace))
	s.printNotes(api.TakeWarnings())
	if err != nil {
		return err
	}
	var failed []error
	for _, t := range targets {
		_, err := api.Act(ctx, t.object, verb, t.spec)
		if err != nil {
			failed = append(failed, actError(verb, t, err))
			continue
		}
		_, _ = fmt.Fprintf(s.streams.Out, "%s: %s requested\n", t.shown, verb)
	}
	return errors.Join(failed...)
}

// actError explains an error of an action.
func actError(verb string, t actionTarget, err error) error {
	text := observe.ServerMessage(err)
	if (apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)) && !namesObject(err) {
		text = "the adapter serves no actions; see view.actions.enabled of the chart slurm-metrics"
	}
	return fmt.Errorf("%s: %s: %s", t.shown, verb, text)
}

// namesObject reports whether an error is about an object, such as one that no longer exists, and not about its resource.
func namesObject(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Name != ""
}

func findNodeTargets(ctx context.Context, api *observe.API, a *tableRequest, words []string, spec view.SlurmActionSpec) (
	[]actionTarget, error) {
	names, err := findNodes(ctx, api, a, words)
	if err != nil {
		return nil, err
	}
	nodes, err := api.Nodes(ctx, observe.Scope{Namespace: a.scope.Namespace})
	if err != nil {
		return nil, wrapReadError(observe.View, err)
	}
	var out []actionTarget
	for k, name := range names {
		if slices.Contains(names[:k], name) {
			continue
		}
		before := len(out)
		for i := range nodes {
			if n := &nodes[i]; n.Spec.Name == name && a.inCluster(n.Spec.Cluster.Name) {
				out = append(out, actionTarget{observe.Object{Resource: view.Nodes, Namespace: n.Namespace, Name: n.Name, UID: n.UID}, "node " + name, spec})
			}
		}
		switch len(out) - before {
		case 1:
		case 0:
			return nil, fmt.Errorf("node %s no longer exists", name)
		default:
			return nil, fmt.Errorf("several clusters have a node %s: select one with --namespace and --cluster", name)
		}
	}
	return out, nil
}

func findJobTargets(ctx context.Context, api *observe.API, a *tableRequest, ids []string) ([]actionTarget, error) {
	var out []actionTarget
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		j, err := findJob(ctx, api, a.scope.Namespace, a.cluster, id)
		if err != nil {
			return nil, err
		}
		t := actionTarget{observe.Object{Resource: view.Jobs, Namespace: j.Namespace, Name: j.Name, UID: j.UID}, "job " + id, view.SlurmActionSpec{}}
		// The ID of an array is also the ID of one of its records, which the user did not name.
		_, task, isTask := strings.Cut(id, "_")
		if j.Spec.ArrayJobID != 0 && !isTask && strconv.FormatInt(j.Spec.ArrayJobID, 10) == id {
			return nil, fmt.Errorf("job %s is an array: name its tasks, such as %s_%d", id, id, firstTask(j))
		}
		if n, err := strconv.ParseInt(task, 10, 64); isTask && err == nil && convert.JobRecord(j).IsArrayBase() {
			t.spec.ArrayTaskID = &n
		}
		out = append(out, t)
	}
	return out, nil
}

// firstTask returns a task of an array for an example.
func firstTask(j *view.SlurmJob) int64 {
	if j.Spec.ArrayTaskID != nil {
		return *j.Spec.ArrayTaskID
	}
	return 1
}

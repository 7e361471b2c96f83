package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/queue"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// queueFlags are the flags of queue that squeue has too.
type queueFlags struct {
	users, partitions, states, nodes, ids []string
	me, start                             bool
}

// queueCommand returns the command "queue".
func (s *session) queueCommand() *cobra.Command {
	f, q := &topFlags{}, &queueFlags{}
	cmd := &cobra.Command{
		Use:        "queue",
		SuggestFor: []string{"squeue", "job", "jobs", "ps", "q", "list"},
		Short:      "Shows jobs with the options, columns and rows of squeue",
		Long: `Shows jobs with the options, columns and rows of squeue. Several clusters have one
table each. The command needs the view.

-A and -l mean what they mean in kubectl: all namespaces, and a label selector.
--no-headers is squeue's -h.`,
		Example: "  kubectl slurm queue --me\n  kubectl slurm queue -p gpu -t PD --start\n" +
			"  kubectl slurm queue -w 'gpu-[0-3]' --watch",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			states, err := queue.ParseStates(q.states)
			if err != nil {
				return err
			}
			if q.ids, err = queue.ParseIDs(q.ids); err != nil {
				return err
			}
			return s.printTable(cmd.Context(), f, rowNoun{plural: "jobs", singular: "job", finished: "-t all"}, nil, q.reader(states))
		},
	}
	flags := cmd.Flags()
	s.addTableFlags(cmd, flags, f)
	flags.BoolVar(&f.watch, "watch", false, watchUsage)
	flags.StringSliceVarP(&q.users, "user", "u", nil, "Users whose jobs to show, by name or user ID")
	flags.BoolVar(&q.me, "me", false, "Show your own jobs")
	flags.StringSliceVarP(&q.partitions, "partition", "p", nil, "Partitions to show")
	flags.StringSliceVarP(&q.states, "states", "t", nil,
		"States to show, such as PD or running, or all. Default: all but finished jobs")
	flags.StringArrayVarP(&q.nodes, "nodelist", "w", nil,
		"Nodes whose jobs to show: a hostlist such as gpu-[0-3], or names of pods")
	flags.StringArrayVarP(&q.ids, "job", "j", nil, "IDs of jobs to show, such as 7, 7_3, 7_[4-9] or 8+1, with commas between them")
	flags.BoolVar(&q.start, "start", false, "Show when slurmctld expects pending jobs to start")
	registerCompletion(cmd, "states", queue.StateNames()...)
	registerColumns(cmd, queue.Table(queue.ByPartition, nil).ColumnNames())
	_ = cmd.RegisterFlagCompletionFunc("partition", s.completePartitions)
	_ = cmd.RegisterFlagCompletionFunc("nodelist", s.completeNodes)
	_ = cmd.RegisterFlagCompletionFunc("job", s.completeJobs)
	cmd.MarkFlagsMutuallyExclusive("me", "user")
	return cmd
}

// noArguments refuses arguments, which squeue does not have either.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no arguments, but has %s; see %[1]s --help", cmd.CommandPath(), strings.Join(args, " "))
}

// reader returns a function that reads the table.
func (q *queueFlags) reader(states []slurm.JobState) tableReader {
	return func(ctx context.Context, api *observe.API, a tableRequest) (rowTable, []string, error) {
		filter := &queue.Filter{Users: q.users, Partitions: q.partitions, States: states, IDs: q.ids}
		order := queue.ByPartition
		if q.start {
			order = queue.ByStart
			if states == nil {
				filter.States = []slurm.JobState{{Base: slurm.JobPending}}
			}
		}
		if err := checkPartitions(ctx, api, &a, q.partitions); err != nil {
			return nil, nil, err
		}
		var err error
		if filter.Nodes, err = findNodes(ctx, api, &a, q.nodes); err != nil {
			return nil, nil, err
		}
		a.scope.Fields = q.fieldSelector()
		jobs, err := listJobs(ctx, api, a)
		if err != nil {
			return nil, notesWithoutView(err), wrapReadError(observe.View, err)
		}
		t, err := makeTable(jobs, clusterOfJob, func(part []view.SlurmJob) rowTable {
			return &clusterTables[queue.Row]{
				rows:      queue.Rows(a.now, time.Local, order, filter, part),
				clusterOf: func(r *queue.Row) top.ClusterName { return top.ClusterName{Namespace: r.Namespace, Cluster: r.Cluster} },
				table:     func(rows []queue.Row) *table.Table[queue.Row] { return queue.Table(order, rows) },
			}
		})
		return t, nil, err
	}
}

// fieldSelector returns the part of the filter that the server applies.
func (q *queueFlags) fieldSelector() string {
	if q.me {
		return view.FieldUser + "=" + view.UserMe
	}
	return ""
}

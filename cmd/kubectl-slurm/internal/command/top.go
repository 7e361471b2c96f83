package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
)

// topFlags are the flags of top and its subcommands.
type topFlags struct {
	output, sortBy, selector, fields, cluster string
	allNamespaces, noHeaders, watch           bool
	interval                                  time.Duration
	all                                       bool
}

// tableRequest is a request for a table.
type asked struct {
	scope  observe.Scope
	placed top.Placed
	which  top.Which
	// cluster is the only cluster to show and names are the only rows. They are empty for all.
	cluster string
	names   []string
	// matched contains the names that have rows.
	found map[string]bool
	// now is the time of the request.
	now time.Time
}

// startedAt returns the same request at another time.
func (a asked) at(now time.Time) asked {
	a.now, a.found = now, map[string]bool{}
	return a
}

// inCluster reports whether a cluster is requested.
func (a *asked) inCluster(name string) bool { return a.cluster == "" || a.cluster == name }

// matches reports whether a row with the names is requested.
func (a *asked) named(names ...string) bool {
	shown := len(a.names) == 0
	for _, name := range names {
		if slices.Contains(a.names, name) {
			a.found[name], shown = true, true
		}
	}
	return shown
}

// unmatchedNames returns the names without a row.
func (a *asked) missing() []string {
	return slices.DeleteFunc(slices.Clone(a.names), func(name string) bool { return a.found[name] })
}

// placeName returns the searched namespaces in words.
func (a *asked) place() string {
	if a.placed == top.ManyNamespaces {
		return "any namespace"
	}
	return "namespace " + a.scope.Namespace
}

// tableReader reads a table and returns it with notes.
type look func(ctx context.Context, api *observe.API, a asked) (t printer, notes []string, err error)

// topCommand returns the command "top".
func (s *session) top() *cobra.Command {
	f := &topFlags{}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Shows partitions, nodes, jobs, NodeSets or users and their resources",
	}
	group(cmd)
	flags := cmd.PersistentFlags()
	flags.StringVarP(&f.output, "output", "o", "", "Output format: json, yaml, wide or name")
	flags.StringVar(&f.sortBy, "sort-by", "", "Column to sort by; numbers are sorted in descending order")
	flags.StringVarP(&f.selector, "selector", "l", "",
		"Label selector, such as partition=gpu,state=PENDING,user=alice in the view")
	flags.StringVar(&f.fields, "field-selector", "", "Field selector, such as spec.account=ml")
	flags.StringVar(&f.cluster, "cluster", "",
		"Slurm cluster to show: the name of its Controller or Cluster. Default: all")
	flags.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "Show all namespaces")
	flags.BoolVar(&f.noHeaders, "no-headers", false, "Omit the headings")
	flags.BoolVarP(&f.watch, "watch", "w", false, "Refresh the table until interrupted")
	flags.DurationVar(&f.interval, "interval", 5*time.Second, "Interval between refreshes of --watch")
	complete(cmd, "output", table.Formats()...)
	_ = cmd.RegisterFlagCompletionFunc("cluster", s.completeClusters)
	cmd.AddCommand(
		s.table(f, "partitions", "partition", "Shows partitions: their nodes, and their running and pending jobs",
			lookPartitions),
		s.table(f, "nodes", "node", "Shows Slurm nodes: their state and their allocated resources", lookNodes),
		s.table(f, "jobs", "job", "Shows jobs: their resources, and where they run or why they wait", lookJobs),
		s.table(f, "nodesets", "nodeset", "Shows NodeSets: their workers, and the workers that the queue requires",
			lookNodeSets),
		s.table(f, "users", "user", "Shows users: their jobs and the resources of these jobs", lookUsers),
	)
	return cmd
}

func complete(cmd *cobra.Command, flag string, words ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// tableCommand returns a subcommand of top.
func (s *session) table(f *topFlags, name, single, short string, read look) *cobra.Command {
	cmd := &cobra.Command{
		Use:     name + " [NAME...]",
		Aliases: []string{single},
		Short:   short,
		Example: fmt.Sprintf("  kubectl slurm top %[1]s\n  kubectl slurm top %[1]s --all-namespaces --output=wide",
			name),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.show(cmd.Context(), f, kindOfRow{name, single}, args, read)
		},
	}
	if name == "nodes" || name == "jobs" {
		cmd.Flags().BoolVar(&f.all, "all", false, map[string]string{
			"nodes": "Also show FUTURE nodes", "jobs": "Also show finished jobs",
		}[name])
	}
	return cmd
}

func (s *session) show(ctx context.Context, f *topFlags, of kindOfRow, names []string, read look) error {
	format, err := table.ParseFormat(f.output)
	if err != nil {
		return err
	}
	if f.watch && (format == table.JSON || format == table.YAML) {
		return fmt.Errorf("--watch shows tables and names, not -o %s", format)
	}
	a, err := s.asked(f, names)
	if err != nil {
		return err
	}
	api, err := s.api()
	if err != nil {
		return err
	}
	p := printing{of: of, format: format, sortBy: f.sortBy, headings: table.WithHeadings}
	if f.noHeaders {
		p.headings = table.WithoutHeadings
	}
	once := func(w io.Writer) ([]string, error) {
		now := a.at(s.now())
		t, notes, err := read(ctx, api, now)
		notes = append(notes, api.Warned()...)
		if err != nil && !isBroken(err) {
			return notes, err
		}
		more, printErr := p.print(w, &now, t)
		return append(notes, more...), cmp.Or(err, printErr)
	}
	if f.watch {
		return s.repeat(ctx, f.interval, once)
	}
	notes, err := once(s.streams.Out)
	s.notes(notes)
	return err
}

func (s *session) asked(f *topFlags, names []string) (asked, error) {
	a := asked{scope: observe.Scope{Labels: f.selector, Fields: f.fields}, cluster: f.cluster, names: names,
		placed: top.ManyNamespaces, which: top.Present}
	if f.all {
		a.which = top.All
	}
	if f.allNamespaces {
		return a, nil
	}
	var err error
	a.placed = top.OneNamespace
	a.scope.Namespace, err = s.namespace()
	return a, err
}

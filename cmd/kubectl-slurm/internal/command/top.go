package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
type tableRequest struct {
	scope      observe.Scope
	namespaces top.NamespaceColumn
	filter     top.RowFilter
	// cluster is the only cluster to show and names are the only rows. They are empty for all.
	cluster string
	names   []string
	// matched contains the names that have rows.
	matched map[string]bool
	// now is the time of the request.
	now time.Time
}

// startedAt returns the same request at another time.
func (a tableRequest) startedAt(now time.Time) tableRequest {
	a.now, a.matched = now, map[string]bool{}
	return a
}

// inCluster reports whether a cluster is requested.
func (a *tableRequest) inCluster(name string) bool { return a.cluster == "" || a.cluster == name }

// matches reports whether a row with the names is requested.
func (a *tableRequest) matches(names ...string) bool {
	shown := len(a.names) == 0
	for _, name := range names {
		if slices.Contains(a.names, name) {
			a.matched[name], shown = true, true
		}
	}
	return shown
}

// unmatchedNames returns the names without a row.
func (a *tableRequest) unmatchedNames() []string {
	return slices.DeleteFunc(slices.Clone(a.names), func(name string) bool { return a.matched[name] })
}

// placeName returns the searched namespaces in words.
func (a *tableRequest) placeName() string {
	if a.namespaces == top.ManyNamespaces {
		return "any namespace"
	}
	return "namespace " + a.scope.Namespace
}

// tableReader reads a table and returns it with notes.
type tableReader func(ctx context.Context, api *observe.API, a tableRequest) (t rowTable, notes []string, err error)

// topCommand returns the command "top".
func (s *session) topCommand() *cobra.Command {
	f := &topFlags{}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Shows partitions, nodes, jobs, NodeSets or users and their resources",
	}
	requireSubcommand(cmd)
	s.addTableFlags(cmd, cmd.PersistentFlags(), f)
	cmd.PersistentFlags().StringVar(&f.fields, "field-selector", "", "Field selector, such as spec.account=ml")
	cmd.PersistentFlags().BoolVarP(&f.watch, "watch", "w", false, watchUsage)
	// The subcommands share the flag.
	_ = cmd.RegisterFlagCompletionFunc("sort-by", func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return columnWords(columnsOf(c.Name())), cobra.ShellCompDirectiveNoFileComp
	})
	cmd.AddCommand(
		s.tableCommand(f, "partitions", "partition",
			"Shows partitions: their nodes, and their running and pending jobs",
			readPartitions),
		s.tableCommand(f, "nodes", "node", "Shows Slurm nodes: their state and their allocated resources", readNodes),
		s.tableCommand(f, "jobs", "job", "Shows jobs: their resources, and where they run or why they wait", readJobs),
		s.tableCommand(f, "nodesets", "nodeset",
			"Shows NodeSets: their workers, and the workers that the queue requires",
			readNodeSets),
		s.tableCommand(f, "users", "user", "Shows users: their jobs and the resources of these jobs", readUsers),
	)
	return cmd
}

// minInterval is the shortest interval of --watch. The adapter itself polls Slurm every few seconds.
const minInterval = time.Second

const watchUsage = "Refresh the table until interrupted"

// addTableFlags adds the flags that all tables have, apart from --watch, whose letter is a node list in queue.
func (s *session) addTableFlags(cmd *cobra.Command, flags *pflag.FlagSet, f *topFlags) {
	flags.StringVarP(&f.output, "output", "o", "", table.Usage(table.Formats()))
	flags.StringVar(&f.sortBy, "sort-by", "", "Column to sort by, or the beginning of its name. Numbers are sorted in descending order; "+
		"a minus sign before the name reverses the order")
	flags.StringVarP(&f.selector, "selector", "l", "",
		"Label selector, such as partition=gpu,state=PENDING,user=alice in the view")
	flags.StringVar(&f.cluster, "cluster", "",
		"Slurm cluster to show: the name of its Controller or Cluster. Default: all")
	flags.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "Show all namespaces")
	flags.BoolVar(&f.noHeaders, "no-headers", false, "Omit the headings")
	flags.DurationVar(&f.interval, "interval", 5*time.Second, "Interval between refreshes of --watch, at least 1s")
	registerCompletion(cmd, "output", table.Formats()...)
	_ = cmd.RegisterFlagCompletionFunc("cluster", s.completeClusters)
}

func registerCompletion(cmd *cobra.Command, flag string, words ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// tableCommand returns a subcommand of top.
func (s *session) tableCommand(f *topFlags, name, single, short string, read tableReader) *cobra.Command {
	cmd := &cobra.Command{
		Use:     name + " [NAME...]",
		Aliases: []string{single},
		Short:   short,
		Example: fmt.Sprintf("  kubectl slurm top %[1]s\n  kubectl slurm top %[1]s --all-namespaces --output=wide",
			name),
		RunE: func(cmd *cobra.Command, args []string) error {
			if name == "nodes" {
				var err error
				if args, err = expandHostlists(args); err != nil {
					return err
				}
			}
			return s.printTable(cmd.Context(), f, topNoun(name, single), args, read)
		},
	}
	if name == "nodes" || name == "jobs" {
		cmd.Flags().BoolVar(&f.all, "all", false, map[string]string{
			"nodes": "Also show FUTURE nodes", "jobs": "Also show finished jobs",
		}[name])
	}
	return cmd
}

func topNoun(name, single string) rowNoun {
	noun := rowNoun{plural: name, singular: single}
	if name == "jobs" {
		noun.finished = "--all"
	}
	return noun
}

// columnsOf returns the columns of a subcommand of top.
func columnsOf(name string) []string {
	switch name {
	case "partitions":
		return top.Partitions(top.OneNamespace, nil).ColumnNames()
	case "nodes":
		return top.Nodes(time.Time{}, top.OneNamespace, top.All, nil).ColumnNames()
	case "jobs":
		return top.Jobs(time.Time{}, top.OneNamespace, top.All, nil).ColumnNames()
	case "nodesets":
		return top.NodeSets(top.OneNamespace, nil, nil, nil).ColumnNames()
	}
	return top.Users(top.OneNamespace, nil).ColumnNames()
}

func (s *session) printTable(ctx context.Context, f *topFlags, of rowNoun, names []string, read tableReader) error {
	format, err := table.ParseFormat(f.output)
	if err != nil {
		return err
	}
	if f.interval < minInterval {
		return fmt.Errorf("--interval must be at least %s, not %s", minInterval, f.interval)
	}
	if f.watch && !format.IsTable() {
		return fmt.Errorf("--watch shows tables and names, not -o %s", format)
	}
	a, err := s.newTableRequest(f, names)
	if err != nil {
		return err
	}
	api, err := s.connect()
	if err != nil {
		return err
	}
	p := tablePrinter{rows: of, format: format, sortBy: f.sortBy, headings: table.WithHeadings,
		screen: s.screen(f.watch)}
	if f.noHeaders {
		p.headings = table.WithoutHeadings
	}
	once := func(w io.Writer) ([]string, error) {
		now := a.startedAt(s.now())
		t, notes, err := read(ctx, api, now)
		notes = append(notes, api.TakeWarnings()...)
		if err != nil && !isPanickedClusters(err) {
			return notes, err
		}
		if t.Len() == 0 && err == nil {
			if err := checkPlace(ctx, api, &now); err != nil {
				return notes, err
			}
		}
		more, printErr := p.print(w, &now, t)
		return append(notes, more...), cmp.Or(err, printErr)
	}
	if f.watch {
		return s.watchTable(ctx, f.interval, once)
	}
	notes, err := once(s.streams.Out)
	s.printNotes(notes)
	return err
}

func (s *session) newTableRequest(f *topFlags, names []string) (tableRequest, error) {
	a := tableRequest{scope: observe.Scope{Labels: f.selector, Fields: f.fields}, cluster: f.cluster, names: names,
		namespaces: top.ManyNamespaces, filter: top.Present}
	if f.all {
		a.filter = top.All
	}
	if f.allNamespaces {
		return a, nil
	}
	var err error
	a.namespaces = top.OneNamespace
	a.scope.Namespace, err = s.namespace()
	return a, err
}

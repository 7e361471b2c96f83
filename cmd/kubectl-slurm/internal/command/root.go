// Package command is the command line of kubectl-slurm: the commands, their flags, and what they
// read and print.
package command

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// Streams are the input and output of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Size returns the current columns and lines of Out if that is a terminal, which --watch
	// redraws. It is nil otherwise.
	Size func() (columns, lines int)
	// Terminal prepares the terminal of In and Out for a shell, until restore is called. It is nil if one of them is no
	// terminal.
	Terminal func() (sizes remotecommand.TerminalSizeQueue, restore func(), err error)
	// Color is whether Out shows colors.
	Color bool
}

// session is the state that all commands share.
type session struct {
	streams Streams
	kube    *genericclioptions.ConfigFlags
	now     func() time.Time
	version string
}

// New returns the root command. now is the clock for ages.
func New(streams Streams, now func() time.Time, version string) *cobra.Command {
	s := &session{streams: streams, kube: genericclioptions.NewConfigFlags(true), now: now, version: version}
	// Our --cluster selects a Slurm cluster, kubectl's would select a Kubernetes cluster.
	s.kube.ClusterName = nil
	s.kube.CacheDir = nil // no cache on disk
	root := &cobra.Command{
		Use:   "kubectl-slurm",
		Short: "Shows and explains Slurm on Kubernetes",
		Long: `Shows the Slurm clusters in a Kubernetes cluster, explains the number of workers of
NodeSets and why jobs wait, finds faults, and replaces keys.

The plugin reads everything through the Kubernetes API with your permissions: the
custom resources of slurm-operator, and the metrics and the view of Slurm that
slurm-metrics-adapter serves. You need no Slurm token. logs and shell run commands in
pods. Only rotate, drain, resume, cancel, hold and release change anything.

The exit status is 0 for success, 1 when the doctor found a fault or the records of a
cluster cannot be shown, 2 for other errors, and 130 when a command other than --watch
was interrupted. logs and shell pass on the status of the command in the pod.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl slurm"},
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
	}
	s.kube.AddFlags(root.PersistentFlags())
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(addHelpHint)
	requireSubcommand(root)
	root.AddCommand(s.queueCommand(), s.infoCommand(), s.topCommand(), s.explainCommand(), s.doctorCommand(), s.rotateCommand(), s.versionCommand(),
		s.logsCommand(), s.shellCommand())
	root.AddCommand(s.actionCommands()...)
	return root
}

// FindingsError means that a command succeeded and has findings. The exit status is 1.
type FindingsError struct{ Count int }

func (e *FindingsError) Error() string { return fmt.Sprintf("%d found", e.Count) }

// ExitStatus returns the exit status for the error of a command: 0 for nil, 1 for findings and for
// clusters whose records cannot be shown, the status of a command in a pod, and 2 for all other errors.
func ExitStatus(err error) int {
	var found *FindingsError
	var exit *observe.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.Status
	case errors.As(err, &found), slurmclient.PanicOf(err) != nil:
		return 1
	}
	return 2
}

// ErrorText returns the text of an error for stderr. It is empty for findings, which were already
// printed. A panic includes its stack.
func ErrorText(err error) string {
	var found *FindingsError
	if err == nil || errors.As(err, &found) {
		return ""
	}
	if p := slurmclient.PanicOf(err); p != nil {
		return "error: " + err.Error() + "\n" + string(p.Stack)
	}
	lines := strings.Split(err.Error(), "\n")
	for i := range lines {
		lines[i] = table.Clean(lines[i]) // it may have names and reasons of other users
	}
	return "error: " + strings.Join(lines, "\n")
}

// screen returns the terminal for tables. --watch cuts lines itself and has no colors.
func (s *session) screen(watch bool) table.Screen {
	if s.streams.Size == nil {
		return table.Screen{}
	}
	columns, _ := s.streams.Size()
	return table.Screen{Columns: columns, Color: s.streams.Color && !watch}
}

// connect returns a client with the user's kubeconfig and flags.
func (s *session) connect() (*observe.API, error) {
	cfg, err := s.kube.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if cfg.Host == defaultServer && *s.kube.APIServer == "" {
		raw, err := s.kube.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, fmt.Errorf("reading the kubeconfig: %w", err)
		}
		if len(raw.Clusters) == 0 {
			return nil, errNoKubeconfig
		}
	}
	return observe.New(cfg)
}

// defaultServer is what kubectl's flags connect to when nothing names a server.
const defaultServer = "http://localhost:8080"

var errNoKubeconfig = errors.New("no kubeconfig names a Kubernetes cluster: set KUBECONFIG, give --kubeconfig or " +
	"--server, or create ~/.kube/config")

// namespace returns the namespace of the user's context or flags.
func (s *session) namespace() (string, error) {
	name, _, err := s.kube.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return name, nil
}

// printNotes writes each note once.
func (s *session) printNotes(said []string) {
	printed := map[string]bool{}
	for _, text := range said {
		if !printed[text] {
			_, _ = fmt.Fprintln(s.streams.Err, "note: "+table.Clean(text))
		}
		printed[text] = true
	}
}

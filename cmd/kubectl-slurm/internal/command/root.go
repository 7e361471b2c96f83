// Package command is the command line of kubectl-slurm: its commands, their flags, and
// what each reads and prints.
package command

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// Streams are where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Size is how many columns and lines Out has now, when it is a terminal, which --watch
	// redraws; nil when it is none.
	Size func() (columns, lines int)
}

// session is what all commands share.
type session struct {
	streams Streams
	kube    *genericclioptions.ConfigFlags
	now     func() time.Time
	version string
}

// New returns the command with all that is below it. now is the clock of ages.
func New(streams Streams, now func() time.Time, version string) *cobra.Command {
	s := &session{streams: streams, kube: genericclioptions.NewConfigFlags(true), now: now, version: version}
	// Ours says which Slurm cluster; kubectl's would say which Kubernetes.
	s.kube.ClusterName = nil
	s.kube.CacheDir = nil // nothing is kept
	root := &cobra.Command{
		Use:   "kubectl-slurm",
		Short: "Shows and explains Slurm on Kubernetes",
		Long: `Shows what the Slurm clusters of a Kubernetes do, why NodeSets have as many
workers as they have, why jobs wait, and what is wrong.

Everything is read through the Kubernetes API, with the rights that you have there:
the custom resources of slurm-operator, the metrics and the view of Slurm that
slurm-metrics-adapter serves. You need no token of Slurm.

The exit status is 0 when all went well, 1 when the doctor found something or the
records of a cluster cannot be shown, 2 for other errors, and 130 when a command other
than --watch was interrupted.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl slurm"},
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
	}
	s.kube.AddFlags(root.PersistentFlags())
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(flagError)
	group(root)
	root.AddCommand(s.top(), s.explain(), s.doctor())
	return root
}

// FoundError tells that a command did its work and found something: the exit status is 1.
type FoundError struct{ Count int }

func (e *FoundError) Error() string { return fmt.Sprintf("%d found", e.Count) }

// Status is the exit status for what a command returned: 0 for nothing, 1 for findings
// and for clusters whose records cannot be shown, 2 for everything else.
func Status(err error) int {
	var found *FoundError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &found), slurmclient.PanicOf(err) != nil:
		return 1
	}
	return 2
}

// Report is what to say of an error: nothing of findings, which were printed, and the
// stack of a panic beside its words.
func Report(err error) string {
	var found *FoundError
	if err == nil || errors.As(err, &found) {
		return ""
	}
	if p := slurmclient.PanicOf(err); p != nil {
		return "error: " + err.Error() + "\n" + string(p.Stack)
	}
	return "error: " + err.Error()
}

// api connects with the user's kubeconfig and flags.
func (s *session) api() (*observe.API, error) {
	cfg, err := s.kube.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return observe.New(cfg)
}

// namespace is the one that the user is in, or names.
func (s *session) namespace() (string, error) {
	name, _, err := s.kube.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return name, nil
}

// notes writes each sentence once.
func (s *session) notes(said []string) {
	told := map[string]bool{}
	for _, text := range said {
		if !told[text] {
			_, _ = fmt.Fprintln(s.streams.Err, "note: "+table.Clean(text))
		}
		told[text] = true
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/prometheus/common/version"
	"github.com/spf13/cobra"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
)

const description = `Demonstrates slurmtide on one machine.

  slurmtide demo run    starts a Kubernetes cluster with one node, installs the chart
                        slurm-stack, submits a burst of jobs, and waits until all NodeSets
                        are at zero again; it uses whatever is already running
  slurmtide demo down   stops and removes everything

Run it in the repository; 'make demo' and 'make demo-down' do so.`

// options are the flags and the subcommand.
type options struct {
	repo, dir, pictures string
	ci, simulate        bool
	subcommand          func(context.Context) error
}

// parseFlags reads the flags and the subcommand. For help and --version, which it prints, the error
// is flags.ErrPrinted.
func parseFlags(args []string) (*options, error) {
	o := &options{}
	root := o.newCommand()
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		return nil, err
	}
	if o.subcommand == nil {
		return nil, flags.ErrPrinted
	}
	return o, o.resolveFolders()
}

// newCommand returns the command tree. Its subcommands only set o.subcommand.
func (o *options) newCommand() *cobra.Command {
	root := &cobra.Command{
		Use: "slurmtide", Short: "Demonstrates slurmtide on one machine.", Long: description,
		Version: version.Print("slurmtide"), SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "Show the version.")
	root.PersistentFlags().StringVar(&o.repo, "repository", ".", "Folder of the repository.")
	root.PersistentFlags().StringVar(&o.dir, "dir", "",
		"Folder for the state of the demo. Default: .run/demo in the repository.")
	demo := &cobra.Command{
		Use: "demo", Short: "The demo.", Args: cobra.NoArgs,
		RunE: func(*cobra.Command,
			[]string) error {
			return errors.New("must select a subcommand of demo: run or down")
		},
	}
	play := &cobra.Command{
		Use: "run", Short: "Start the demo and play it.", Args: cobra.NoArgs,
		Run: func(*cobra.Command, []string) { o.subcommand = o.playDemo },
	}
	play.Flags().BoolVar(&o.ci, "ci", false, "Write plain lines instead of a live view.")
	play.Flags().BoolVar(&o.simulate, "simulate", false, "Simulate Slurm and its workers, without Kubernetes.")
	play.Flags().StringVar(&o.pictures, "pictures", "", "Folder for demo.svg and demo.png. Default: --dir.")
	flags.AddNegations(play.Flags())
	down := &cobra.Command{
		Use: "down", Short: "Stop the demo and remove its folder.", Args: cobra.NoArgs,
		Run: func(*cobra.Command, []string) { o.subcommand = o.removeDemo },
	}
	demo.AddCommand(play, down)
	root.AddCommand(demo)
	return root
}

// resolveFolders makes the folders absolute.
func (o *options) resolveFolders() (err error) {
	if o.repo, err = filepath.Abs(o.repo); err != nil {
		return err
	}
	switch info, err := os.Stat(o.repo); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("--repository: %s does not exist", o.repo)
	case err != nil:
		return fmt.Errorf("--repository: %w", err)
	case !info.IsDir():
		return fmt.Errorf("--repository: %s is not a folder", o.repo)
	}
	if o.dir == "" {
		o.dir = filepath.Join(o.repo, ".run", "demo")
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	if o.pictures == "" {
		o.pictures = o.dir
	}
	return nil
}

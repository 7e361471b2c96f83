package main

import (
	"context"
	"path/filepath"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"
)

const description = `Demonstrates slurmtide on one machine.

  slurmtide demo run    starts a Kubernetes cluster with one node, Slurm, the operator and
                        the adapter, submits a burst of jobs, and waits until all NodeSets
                        are at zero again; it uses whatever is already running
  slurmtide demo down   stops and removes everything

Run it in the repository; 'make demo' and 'make demo-down' do so.`

// options are the flags and the subcommand.
type options struct {
	repo, dir, pictures string
	ci, simulate        bool
	subcommand          func(context.Context) error
}

// parseFlags reads the flags. --help and --version print and exit.
func parseFlags(args []string) (*options, error) {
	o := &options{}
	app := kingpin.New("slurmtide", description)
	app.Version(version.Print("slurmtide"))
	app.HelpFlag.Short('h')
	app.Flag("repository", "Folder of the repository.").Default(".").ExistingDirVar(&o.repo)
	app.Flag("dir", "Folder for the state of the demo. Default: .run/demo in the repository.").StringVar(&o.dir)
	demo := app.Command("demo", "The demo.")
	play := demo.Command("run", "Start the demo and play it.")
	play.Flag("ci", "Write plain lines instead of a live view.").BoolVar(&o.ci)
	play.Flag("simulate", "Simulate Slurm and its workers, without Kubernetes.").BoolVar(&o.simulate)
	play.Flag("pictures", "Folder for demo.svg and demo.png. Default: --dir.").StringVar(&o.pictures)
	down := demo.Command("down", "Stop the demo and remove its folder.")
	command, err := app.Parse(args)
	if err != nil {
		return nil, err
	}
	o.subcommand = map[string]func(context.Context) error{play.FullCommand(): o.playDemo,
		down.FullCommand(): o.removeDemo}[command]
	return o, o.resolveFolders()
}

// resolveFolders makes the folders absolute.
func (o *options) resolveFolders() (err error) {
	if o.repo, err = filepath.Abs(o.repo); err != nil {
		return err
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

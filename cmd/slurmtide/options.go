package main

import (
	"context"
	"path/filepath"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"
)

const description = `Shows the whole of slurmtide on one machine.

  slurmtide demo run    puts up a Kubernetes with a node, Slurm, the operator and the
                        adapter, submits a burst of jobs, and looks on until all is at
                        zero again; what is up already is used
  slurmtide demo down   ends all of it

Run it in the repository; 'make demo' and 'make demo-down' do.`

// options are the flags, and what is to be done.
type options struct {
	repo, dir, pictures string
	ci, simulate        bool
	do                  func(context.Context) error
}

// parse reads the flags. --help and --version print and exit.
func parse(args []string) (*options, error) {
	o := &options{}
	app := kingpin.New("slurmtide", description)
	app.Version(version.Print("slurmtide"))
	app.HelpFlag.Short('h')
	app.Flag("repository", "Folder of the repository.").Default(".").ExistingDirVar(&o.repo)
	app.Flag("dir", "Folder of all that is put up; empty for .run/demo in the repository.").StringVar(&o.dir)
	demo := app.Command("demo", "The demo.")
	play := demo.Command("run", "Put it up and play it.")
	play.Flag("ci", "Write plain lines instead of a live view.").BoolVar(&o.ci)
	play.Flag("simulate", "Simulate Slurm and its workers, without Kubernetes.").BoolVar(&o.simulate)
	play.Flag("pictures", "Folder for demo.svg and demo.png; empty for --dir.").StringVar(&o.pictures)
	down := demo.Command("down", "End it and remove its folder.")
	command, err := app.Parse(args)
	if err != nil {
		return nil, err
	}
	o.do = map[string]func(context.Context) error{play.FullCommand(): o.run, down.FullCommand(): o.down}[command]
	return o, o.locate()
}

// locate makes the folders absolute.
func (o *options) locate() (err error) {
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

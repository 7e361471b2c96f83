package main

import (
	"errors"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// options are the flags.
type options struct {
	installDir, checkDir string

	wantedDir, liveDir, acceptedDir string
	interval                        time.Duration
	checker                         configagent.Checker
	slurmctld                       configagent.Slurmctld
	address                         string

	log lines.Flags
}

const description = `Gives slurmctld a changed configuration after a trial.

The operator runs it beside slurmctld, in the same pod. When the files in --wanted change, it
starts a second slurmctld with them, which has a state and a port of its own. If that one
serves, the files become those in --live, and slurmctld reads them again; if it ends, nothing
changes, and /status says why.

  slurm-agent --wanted=/etc/slurm-wanted
  slurm-agent --check=/etc/slurm
  slurm-agent --install=/opt/slurm-agent`

// parseFlags reads the flags. For --help and --version, which it prints, the error is
// flags.ErrPrinted.
func parseFlags(args []string) (*options, error) {
	program, o := newProgram()
	if err := program.Parse(args, os.Stdout); err != nil {
		return nil, err
	}
	return o, o.validate()
}

// newProgram returns the program's flags and the options that they set.
func newProgram() (*flags.Program, *options) {
	o := &options{}
	p := flags.New("slurm-agent", description)
	o.commandFlags(p.Group("Commands"))
	o.fileFlags(p.Group("Files"))
	o.slurmFlags(p.Group("Slurm"))
	o.log.AddFlags(p.Group("Logs"))
	return p, o
}

func (o *options) commandFlags(set *pflag.FlagSet) {
	set.StringVar(&o.checkDir, "check", "", "Try the configuration in this folder once, say whether slurmctld starts "+
		"with it, and end.")
	set.StringVar(&o.installDir, "install", "", "Copy this program into this folder, and end.")
}

func (o *options) fileFlags(set *pflag.FlagSet) {
	set.StringVar(&o.wantedDir, "wanted", "/etc/slurm-wanted", "Folder with the files that are wanted.")
	set.StringVar(&o.liveDir, "live", slurmconf.Dir, "Folder with the files that slurmctld reads.")
	set.StringVar(&o.acceptedDir, "accepted", slurmconf.StateDir+"/accepted-config", "Folder for the files that were "+
		"accepted last, with which slurmctld starts if those that are wanted are broken. It should outlive the pod.")
	set.StringVar(&o.checker.TempDir, "temp-dir", os.TempDir(), "Folder for trials, which keep keys in it.")
	set.DurationVar(&o.interval, "interval", 500*time.Millisecond, "Interval at which to look at the wanted files.")
}

func (o *options) slurmFlags(set *pflag.FlagSet) {
	set.StringVar(&o.checker.Slurmctld, "slurmctld", "slurmctld", "The program slurmctld.")
	set.StringVar(&o.slurmctld.Scontrol, "scontrol", "scontrol", "The program scontrol.")
	set.StringVar(&o.slurmctld.PidFile, "pid-file", slurmconf.RunDir+"/slurmctld.pid",
		"File with the process id of slurmctld.")
	set.DurationVar(&o.checker.Timeout, "trial-timeout", 20*time.Second, "How long slurmctld may take to start in a "+
		"trial.")
	set.DurationVar(&o.slurmctld.Timeout, "apply-timeout", time.Minute, "How long slurmctld may take to answer after it "+
		"has read its configuration again.")
	set.StringVar(&o.address, "listen-address", ":6826", "Address of /status and /started.")
}

func (o *options) validate() error {
	switch {
	case o.checkDir != "" && o.installDir != "":
		return errors.New("--check and --install exclude each other")
	case o.interval <= 0:
		return errors.New("--interval must be above 0")
	case o.checker.Timeout <= 0:
		return errors.New("--trial-timeout must be above 0")
	case o.slurmctld.Timeout <= 0:
		return errors.New("--apply-timeout must be above 0")
	}
	return nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/daemon"
	"github.com/slurmtide/slurmtide/operator/configagent/inuse"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// options are the flags.
type options struct {
	installDir, checkDir string

	wantedDir, liveDir, acceptedDir, stateDir string
	interval                                  time.Duration
	checker                                   configagent.Checker
	slurmctld                                 daemon.Slurmctld
	slurmdbd                                  daemon.Slurmdbd
	reloader                                  daemon.Reloader
	daemonName                                string
	hasDirectory                              bool
	daemon                                    configagent.Daemon
	pidFile, slurmctldProgram                 string
	slurmdbdProgram, sacctmgr                 string
	applyTimeout                              time.Duration
	address, tlsAddress, socket               string
	sessionPort                               uint16

	log lines.Flags
}

const description = `Gives slurmctld or slurmdbd a changed configuration after a trial, and slurmd or sackd
changed keys, and ends TLS in front of slurmrestd.

The operator runs it beside the daemon, in the same pod. When the files in --wanted change, it
starts a second daemon with them, which has a state and a port of its own. If that one accepts
them, the files become those in --live, and the daemon reads them again; if it ends, nothing
changes, and /status says why.

The trial of slurmdbd does not reach the database, so a wrong address or password of the
database is not found by it. The file storage-password becomes a line of slurmdbd.conf, and the
accounts in the file slurmtide.accounts are applied with sacctmgr.

slurmd and sackd get their configuration from slurmctld. Beside them, in the same process
namespace, it copies slurm.key and slurm.jwks, and lets the daemon read them with SIGHUP.

slurmrestd of Debian has no TLS. In front of it, slurm-agent serves https with tls.crt and tls.key
in --wanted, which it reads again when they change, and passes what clients send to --socket.
/ready says whether slurmrestd accepts connections. After SIGTERM it ends when the connections
have ended, as they do when slurmrestd ends.

  slurm-agent --wanted=/etc/slurm-wanted
  slurm-agent --daemon=slurmdbd --accepted=/run/accepted-config
  slurm-agent --daemon=slurmd --wanted=/etc/slurm-wanted --live=/run/slurm-keys
  slurm-agent --daemon=slurmrestd --wanted=/etc/slurmrestd-tls
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
	set.StringVar(&o.checkDir, "check", "", "Try the configuration in this folder once, say whether the daemon starts "+
		"with it, and end.")
	set.StringVar(&o.installDir, "install", "", "Copy this program into this folder, and end.")
}

func (o *options) fileFlags(set *pflag.FlagSet) {
	set.StringVar(&o.wantedDir, "wanted", "/etc/slurm-wanted", "Folder with the files that are wanted.")
	set.StringVar(&o.liveDir, "live", slurmconf.Dir, "Folder with the files that the daemon reads.")
	set.StringVar(&o.acceptedDir, "accepted", slurmconf.StateDir+"/accepted-config", "Folder for the files that were "+
		"accepted last, with which the daemon starts if those that are wanted are broken. That of slurmctld should outlive "+
		"the pod, and that of slurmdbd, which has keys, should be in memory. For slurmd and sackd it is the folder accepted "+
		"in --live.")
	set.StringVar(&o.stateDir, "state", slurmconf.StateDir, "Folder with the state of slurmctld, which is copied before "+
		"a newer slurmctld converts it, and which an older one is kept from.")
	set.StringVar(&o.checker.TempDir, "temp-dir", os.TempDir(), "Folder for trials, which keep keys in it.")
	set.DurationVar(&o.interval, "interval", 500*time.Millisecond, "Interval at which to look at the wanted files.")
}

func (o *options) slurmFlags(set *pflag.FlagSet) {
	set.StringVar(&o.daemonName, "daemon", "slurmctld", "The daemon: slurmctld, slurmdbd, slurmd, sackd or slurmrestd.")
	set.StringVar(&o.slurmctldProgram, "slurmctld", "slurmctld", "The program slurmctld.")
	set.StringVar(&o.slurmdbdProgram, "slurmdbd", "slurmdbd", "The program slurmdbd.")
	set.StringVar(&o.slurmctld.Scontrol, "scontrol", "scontrol", "The program scontrol.")
	set.BoolVar(&o.hasDirectory, "directory", false, "A directory has users: beside slurmctld, no configuration is applied while getent "+
		"does not find the users and groups of reservations, which slurmctld would delete.")
	set.StringVar(&o.sacctmgr, "sacctmgr", "sacctmgr", "The program sacctmgr, which applies accounts beside slurmdbd.")
	set.StringVar(&o.pidFile, "pid-file", "", "File with the process id of the daemon. Default: "+slurmconf.RunDir+
		"/slurmctld.pid or "+slurmconf.SlurmdbdPidFile+".")
	set.DurationVar(&o.checker.Timeout, "trial-timeout", 20*time.Second, "How long the daemon may take to start in a "+
		"trial.")
	set.DurationVar(&o.applyTimeout, "apply-timeout", time.Minute, "How long slurmctld may take to answer after it "+
		"has read its configuration again, slurmdbd to end, and slurmd and sackd to execute themselves again.")
	set.StringVar(&o.address, "listen-address", ":6826", "Address of /status and /started, or for slurmrestd of /ready.")
	set.Uint16Var(&o.sessionPort, "session-port", 0, "Count the TCP connections at this port in /status, as sessions of "+
		"users; 0 for none.")
	set.StringVar(&o.tlsAddress, "tls-address", ":6821", "Address at which to serve https for slurmrestd.")
	set.StringVar(&o.socket, "socket", "/run/slurmrestd/slurmrestd.sock", "Unix socket of slurmrestd.")
}

func (o *options) validate() error {
	switch {
	case o.checkDir != "" && o.installDir != "":
		return errors.New("--check and --install exclude each other")
	case o.interval <= 0:
		return errors.New("--interval must be above 0")
	case o.checker.Timeout <= 0:
		return errors.New("--trial-timeout must be above 0")
	case o.applyTimeout <= 0:
		return errors.New("--apply-timeout must be above 0")
	}
	return o.chooseDaemon()
}

// chooseDaemon sets what depends on the daemon.
func (o *options) chooseDaemon() error {
	switch o.daemonName {
	case "slurmctld":
		o.daemon = configagent.SlurmctldDaemon()
		o.checker.Program, o.checker.Scontrol = o.slurmctldProgram, o.slurmctld.Scontrol
		o.slurmctld.PidFile = cmp.Or(o.pidFile, slurmconf.RunDir+"/slurmctld.pid")
		o.slurmctld.Timeout, o.slurmctld.Live, o.slurmctld.State = o.applyTimeout, o.liveDir, o.stateDir
		o.slurmctld.Host, _ = os.Hostname() // without one it is the only slurmctld
	case "slurmdbd":
		o.daemon = configagent.SlurmdbdDaemon()
		o.checker.Program = o.slurmdbdProgram
		o.slurmdbd = daemon.Slurmdbd{PidFile: cmp.Or(o.pidFile, slurmconf.SlurmdbdPidFile), Live: o.liveDir,
			Timeout: o.applyTimeout}
	case "slurmd", "sackd":
		o.daemon = configagent.KeysDaemon(o.daemonName)
		o.reloader = daemon.Reloader{Daemon: o.daemonName, Proc: "/proc", Timeout: o.applyTimeout}
		o.acceptedDir = filepath.Join(o.liveDir, "accepted")
	case "slurmrestd":
		if o.checkDir != "" {
			return errors.New("--check is not for slurmrestd")
		}
	default:
		return fmt.Errorf("--daemon must be slurmctld, slurmdbd, slurmd, sackd or slurmrestd, not %q", o.daemonName)
	}
	o.checker.Daemon = o.daemon.Daemon
	return nil
}

// beforeStart returns an error if the daemon must not start yet.
func (o *options) beforeStart(ctx context.Context) error {
	if o.daemonName != "slurmctld" {
		return nil
	}
	return o.stateGuard().Prepare(ctx)
}

func (o *options) stateGuard() configagent.StateGuard {
	return configagent.StateGuard{Slurmctld: o.slurmctldProgram, Dir: o.stateDir, Note: filepath.Join(o.wantedDir, slurmconf.StateFile)}
}

// stateRelease returns the function that reads the release of slurmctld's state, nil beside another daemon.
func (o *options) stateRelease() func() string {
	if o.daemonName != "slurmctld" {
		return nil
	}
	return o.stateGuard().Release
}

// hold returns the function that holds a revision back, or nil.
func (o *options) hold(judge inuse.Judge) func(context.Context, configagent.Files, configagent.Files) error {
	switch o.daemonName {
	case "slurmctld":
		return judge.Hold
	case "slurmd":
		return configagent.HoldForSteps(o.reloader.HasSteps)
	}
	return nil
}

// countSessions returns the function that counts the sessions of users, or nil without a session port.
func (o *options) countSessions() func() (int, error) {
	if o.sessionPort == 0 {
		return nil
	}
	return func() (int, error) { return configagent.CountConnections("/proc", int(o.sessionPort)) }
}

// apply returns the function that makes the running daemon read its configuration.
func (o *options) apply(judge inuse.Judge) func(context.Context, slurmconf.Effect) error {
	switch o.daemonName {
	case "slurmd", "sackd":
		return o.reloader.Apply
	case "slurmdbd":
		return o.slurmdbd.Apply
	}
	return func(ctx context.Context, effect slurmconf.Effect) error {
		defer judge.KeepDrained(ctx)()
		return o.slurmctld.Apply(ctx, effect)
	}
}

// confirm returns the function that checks whether the daemon uses its configuration, nil if the daemon cannot be
// asked.
func (o *options) confirm() func(context.Context, time.Time) error {
	if o.daemonName != "slurmctld" {
		return nil
	}
	return o.slurmctld.Confirm
}

// handOut returns the function that makes slurmctld distribute its configuration, nil for other daemons.
func (o *options) handOut(judge inuse.Judge) func(context.Context) error {
	if o.daemonName != "slurmctld" {
		return nil
	}
	return func(ctx context.Context) error {
		defer judge.KeepDrained(ctx)()
		return o.slurmctld.HandOut(ctx)
	}
}

// checkServes returns the function that detects a slurmctld in standby, nil for other daemons.
func (o *options) checkServes() func(context.Context) error {
	if o.daemonName != "slurmctld" {
		return nil
	}
	return o.slurmctld.CheckServes
}

// isStandby returns the function that reports whether slurmctld is in standby, nil for other daemons.
func (o *options) isStandby() func(context.Context) bool {
	if o.daemonName != "slurmctld" {
		return nil
	}
	return o.slurmctld.IsStandby
}

// checkFiles returns an error if the daemon would not start with files.
func (o *options) checkFiles(ctx context.Context, files configagent.Files) error {
	if o.reloader.Daemon != "" {
		return configagent.CheckKeys(ctx, files)
	}
	return o.checker.Check(ctx, files)
}

// Command slurm-agent runs beside slurmctld or slurmdbd, in the same pod. It gives the daemon a changed configuration
// only after a trial has shown that the daemon starts with it. Beside slurmd and sackd it gives them changed keys, and
// in front of slurmrestd it terminates TLS.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/common/version"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/daemon"
	"github.com/slurmtide/slurmtide/operator/configagent/gate"
	"github.com/slurmtide/slurmtide/operator/configagent/inuse"
	"github.com/slurmtide/slurmtide/operator/configagent/partition"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// run returns the exit status: 0 after a signal or when a flag's command has succeeded, 1 when it fails or the checked
// configuration is refused, 2 for invalid flags.
func run(ctx context.Context, args []string) int {
	o, err := parseFlags(args)
	if err != nil {
		return flags.ReportError(os.Stderr, "slurm-agent", err)
	}
	switch {
	case o.installDir != "":
		err = o.install()
	case o.checkDir != "":
		err = o.check(ctx)
	case o.daemonName == "slurmrestd":
		err = o.serveTLS(ctx)
	default:
		err = o.serve(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "slurm-agent:", err)
		return 1
	}
	return 0
}

// install copies this program into a folder.
func (o *options) install() error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	if err := configagent.Install(program, o.installDir); err != nil {
		return fmt.Errorf("installing: %w", err)
	}
	return nil
}

// check runs one trial.
func (o *options) check(ctx context.Context) error {
	files, err := configagent.ReadFiles(o.checkDir)
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	// The agent beside slurmdbd keeps the password in the active slurmdbd.conf already.
	_, hasPassword := files[slurmconf.StoragePasswordFile]
	if hasPassword || o.daemon.Conf != "slurmdbd.conf" {
		if files, err = o.daemon.Assemble(files); err != nil {
			return err
		}
	}
	if err := o.checkFiles(ctx, files); err != nil {
		return err
	}
	fmt.Println(o.daemon.Name + " starts with this configuration") //nolint:forbidigo // it is the answer
	return nil
}

// newGuards sets the guards that protect jobs while slurmctld gets a revision, and returns the judge that allows or
// holds the revision.
func (o *options) newGuards(log *slog.Logger) inuse.Judge {
	programs := partition.Programs{Scontrol: o.slurmctld.Scontrol}
	state := func(name string) string { return filepath.Join(o.stateDir, "slurmtide."+name) }
	o.slurmctld.Log, o.slurmctld.InStandby, o.slurmctld.FirstSaved = log, new(atomic.Bool), new(atomic.Int64)
	o.slurmctld.Gate = gate.Gate{Programs: programs, Log: log, File: state("closed_partitions"),
		Conf: partition.ConfStates{Programs: programs, Live: o.liveDir, File: state("partition_states"),
			Overridden: state("drained_partitions")},
		Serves: o.slurmctld.CheckServes}
	out := inuse.Judge{Programs: programs, Wanted: o.wantedDir, Live: o.liveDir, File: o.slurmctld.Gate.Conf.Overridden,
		GateFile: o.slurmctld.Gate.File, Silence: inuse.NewSilence(o.slurmctld.IsRunning, time.Now),
		ReachesSlurmdbd: daemon.ReachesSlurmdbd, Log: log}
	if o.hasDirectory {
		out.FindUnknown = inuse.Directory{Getent: "getent", ID: "id"}.FindUnknown
	}
	return out
}

// serve applies configuration until the context ends.
func (o *options) serve(ctx context.Context) error {
	log := o.log.Logger(os.Stderr).Slog()
	log.Info("starting", "version", version.Info(), "build", version.BuildContext())
	judge := o.newGuards(log)
	agent := configagent.New(configagent.Config{
		Daemon: o.daemon, Wanted: o.wantedDir, Live: o.liveDir, Accepted: o.acceptedDir, Interval: o.interval,
		Check: o.checkFiles, Hold: o.hold(judge), BeforeStart: o.beforeStart, Apply: o.apply(judge), Confirm: o.confirm(),
		HandOut: o.handOut(judge), CheckServes: o.checkServes(), IsStandby: o.isStandby(),
		Accounts: o.newAccountsAgent(log), CountSessions: o.countSessions(), StateRelease: o.stateRelease(), Log: log, Now: time.Now,
	})
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.address)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	server := &http.Server{Handler: agent.Handler(), ReadHeaderTimeout: 5 * time.Second}
	var watching sync.WaitGroup
	if o.daemonName == "slurmctld" {
		watching.Go(func() { o.slurmctld.WatchStart(ctx, "/proc") })
		watching.Go(func() { o.slurmctld.Gate.Watch(ctx) })
		watching.Go(func() { judge.Watch(ctx) })
	}
	defer watching.Wait()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	err = agent.Run(ctx)
	if closing := server.Close(); closing != nil {
		err = errors.Join(err, closing)
	}
	if stopped := <-served; !errors.Is(stopped, http.ErrServerClosed) {
		err = errors.Join(err, stopped)
	}
	log.Info("stopped")
	return err
}

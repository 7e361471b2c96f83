package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent/gate"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Slurmctld is the running slurmctld.
type Slurmctld struct {
	// Scontrol is the program, PidFile the file with the process id of slurmctld, and Host its name in slurm.conf.
	Scontrol, PidFile, Host string
	// Live is the folder of slurm.conf.
	Live string
	// Gate keeps jobs from starting while slurmctld executes itself again.
	Gate gate.Gate
	// Timeout is how long slurmctld may take to answer again.
	Timeout time.Duration
	// Log is where a slurmctld that had to be ended is reported.
	Log *slog.Logger
}

// killDelay is how long slurmctld may take to end after SIGTERM. One that hangs does not end; one that was only slow saves
// its state first.
const killDelay = 30 * time.Second

// slurmdbdDelay is how long a change waits for slurmdbd, which starts again within seconds unless it is down.
const slurmdbdDelay = 10 * time.Second

// Apply makes slurmctld read its configuration again, and returns when it answers. For a restart it ends
// slurmctld, which Kubernetes starts again.
//
// scontrol reaches the active slurmctld alone. One in standby would take over with the keys with which it started, so it is
// started again instead, which interrupts nothing.
//
// On a reconfigure slurmctld saves its state and executes itself again. If it does not answer after that, as 24.11 does
// now and then when it registers with slurmdbd, it is ended: since it has answered nothing, nothing is lost. That was seen
// while slurmdbd was away, so Apply waits for slurmdbd before, no longer than slurmdbdDelay. No job starts meanwhile.
func (s Slurmctld) Apply(ctx context.Context, effect slurmconf.Effect) error {
	switch effect {
	case slurmconf.NoEffect:
		return nil
	case slurmconf.NeedsReconfigure:
		if isStandby(s.ping(ctx), s.Host) {
			return s.end(ctx, killDelay)
		}
		s.awaitSlurmdbd(ctx)
		defer s.closeGate(ctx)()
		if err := s.run(ctx, "reconfigure"); err != nil {
			return err
		}
		err := s.awaitAnswer(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		s.Log.Error("slurmctld hangs and is ended", "err", err)
		if err := s.end(ctx, killDelay); err != nil {
			return err
		}
	case slurmconf.NeedsRestart:
		defer s.closeGate(ctx)()
		if err := signalProcess("slurmctld", s.PidFile, syscall.SIGTERM); err != nil {
			return err
		}
	}
	return s.awaitAnswer(ctx)
}

// openDelay is how long opening the gate may take when the agent ends.
const openDelay = 10 * time.Second

// closeGate keeps jobs from starting until the returned function is called. A gate that does not close is only logged: the
// change is made nevertheless.
func (s Slurmctld) closeGate(ctx context.Context) (open func()) {
	if err := s.Gate.Close(ctx); err != nil {
		s.Log.Warn("jobs may start while slurmctld executes itself again", "err", err)
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openDelay)
		defer cancel()
		if err := s.Gate.Open(ctx); err != nil {
			s.Log.Error("partitions are still DOWN for a reconfigure", "err", err)
		}
	}
}

// end ends slurmctld, which Kubernetes starts again, with SIGKILL if SIGTERM has not ended it after a delay.
func (s Slurmctld) end(ctx context.Context, delay time.Duration) error {
	pid, err := readPid("slurmctld", s.PidFile)
	if err != nil {
		return err
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("ending slurmctld (process %d): %w", pid, err)
		}
		for begin := time.Now(); time.Since(begin) < delay; {
			if !isAlive(pid) {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return fmt.Errorf("slurmctld (process %d) does not end", pid)
}

// awaitSlurmdbd waits until slurmdbd accepts connections, if there is one, or it has taken too long.
func (s Slurmctld) awaitSlurmdbd(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, slurmdbdDelay)
	defer cancel()
	for !reachesSlurmdbd(ctx, s.Live) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// awaitAnswer waits until slurmctld answers.
func (s Slurmctld) awaitAnswer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	for {
		err := s.run(ctx, "ping")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("slurmctld does not answer %s after it was given the configuration: %w", s.Timeout, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ping returns what scontrol says of all slurmctlds, empty if it says nothing. It also fails if one is down.
func (s Slurmctld) ping(ctx context.Context) string {
	out, _ := exec.CommandContext(ctx, s.Scontrol, "ping").Output() //nolint:gosec // see Slurmctld
	return string(out)
}

// run runs scontrol. Its output is the error.
func (s Slurmctld) run(ctx context.Context, command string) error {
	out, err := exec.CommandContext(ctx, s.Scontrol, command).CombinedOutput() //nolint:gosec // see Slurmctld
	if err == nil && command == "ping" && !strings.Contains(string(out), " is UP") {
		return fmt.Errorf("scontrol ping: %s", strings.TrimSpace(string(out)))
	}
	if err != nil {
		return fmt.Errorf("scontrol %s: %w: %s", command, err, strings.TrimSpace(string(out)))
	}
	return nil
}

package instance

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// Start starts a daemon that is not running and returns when it has a pid, which may be before it
// answers requests. args are appended to its command line.
func (i *Instance) Start(ctx context.Context, daemon string, args ...string) error {
	return i.runDaemon(ctx, append([]string{"start", daemon}, args...)...)
}

// Stop stops a daemon with SIGTERM, after ten seconds with SIGKILL, and returns when it has exited.
// A daemon that is not running is not an error.
func (i *Instance) Stop(ctx context.Context, daemon string) error {
	return i.runDaemon(ctx, "stop", daemon)
}

// Restart calls Stop and Start.
func (i *Instance) Restart(ctx context.Context, daemon string) error {
	return i.runDaemon(ctx, "restart", daemon)
}

// Signal sends a signal to a daemon. SIGSTOP makes it hang, and has done so when Signal returns.
func (i *Instance) Signal(ctx context.Context, daemon string, signal syscall.Signal) error {
	return i.runDaemon(ctx, "signal", strconv.Itoa(int(signal)), daemon)
}

// PID returns the process id of a daemon in the pid namespace of this machine. It returns an error
// if the daemon is not running.
func (i *Instance) PID(ctx context.Context, daemon string) (int, error) {
	out, err := i.RunScript(ctx, "daemon", "--dir", i.Dir, "pid", daemon)
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return 0, fmt.Errorf("reading the pid of %s: %w", daemon, err)
	}
	return pid, nil
}

// PIDNamespace opens the pid namespace of a daemon, which the caller closes.
func (i *Instance) PIDNamespace(ctx context.Context, daemon string) (*process.PIDNamespace, error) {
	pid, err := i.PID(ctx, daemon)
	if err != nil {
		return nil, err
	}
	return process.OpenPIDNamespace(pid)
}

func (i *Instance) runDaemon(ctx context.Context, args ...string) error {
	_, err := i.RunScript(ctx, "daemon", append([]string{"--dir", i.Dir}, args...)...)
	return err
}

package realslurm

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Daemons are named mariadbd, slurmdbd, slurmctld, slurmrestd and slurmd-NODE.

// Start starts a daemon that does not run and returns when it has a pid, which
// is before it answers. args go to the end of its command line: a dynamic node
// is Start(ctx, "slurmd-dyn1", "-Z", "--conf", "CPUs=4 …").
func (c *Cluster) Start(ctx context.Context, daemon string, args ...string) error {
	return c.daemon(ctx, append([]string{"start", daemon}, args...)...)
}

// Stop ends a daemon in order, by force after ten seconds, and returns when it
// is gone. One that does not run is no error.
func (c *Cluster) Stop(ctx context.Context, daemon string) error {
	return c.daemon(ctx, "stop", daemon)
}

// Restart is Stop and Start.
func (c *Cluster) Restart(ctx context.Context, daemon string) error {
	return c.daemon(ctx, "restart", daemon)
}

// Signal sends a signal to a daemon; SIGSTOP makes one that hangs.
func (c *Cluster) Signal(ctx context.Context, daemon string, signal syscall.Signal) error {
	return c.daemon(ctx, "signal", strconv.Itoa(int(signal)), daemon)
}

// PID is the process id of a daemon as this machine sees it. A daemon that does
// not run is an error.
func (c *Cluster) PID(ctx context.Context, daemon string) (int, error) {
	out, err := c.script(ctx, "daemon", "--dir", c.Dir, "pid", daemon)
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return 0, fmt.Errorf("reading the pid of %s: %w", daemon, err)
	}
	return pid, nil
}

// CPU is the processor time that a daemon, its threads and its children have
// used since it started, to a hundredth of a second.
func (c *Cluster) CPU(ctx context.Context, daemon string) (time.Duration, error) {
	usage, err := c.usage(ctx, daemon)
	return usage.cpu, err
}

// RSS is the resident memory of a daemon and its children, in bytes.
func (c *Cluster) RSS(ctx context.Context, daemon string) (int64, error) {
	usage, err := c.usage(ctx, daemon)
	return usage.rss, err
}

func (c *Cluster) usage(ctx context.Context, daemon string) (usage, error) {
	pid, err := c.PID(ctx, daemon)
	if err != nil {
		return usage{}, err
	}
	total, err := usageOf(pid)
	if err != nil {
		return usage{}, fmt.Errorf("reading what %s uses: %w", daemon, err)
	}
	return total, nil
}

func (c *Cluster) daemon(ctx context.Context, args ...string) error {
	_, err := c.script(ctx, "daemon", append([]string{"--dir", c.Dir}, args...)...)
	return err
}

package realkube

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
)

// Daemons are named etcd, kube-apiserver, kube-controller-manager and
// kube-scheduler, and with a node containerd, kubelet, kube-proxy and coredns.

// Start starts a daemon that is not running and returns when it has a pid, which may be before it
// answers requests. args are appended to its command line.
func (c *Cluster) Start(ctx context.Context, daemon string, args ...string) error {
	return c.runDaemon(ctx, append([]string{"start", daemon}, args...)...)
}

// Stop stops a daemon with SIGTERM, after ten seconds with SIGKILL, and returns when it has exited.
// A daemon that is not running is not an error.
func (c *Cluster) Stop(ctx context.Context, daemon string) error {
	return c.runDaemon(ctx, "stop", daemon)
}

// Restart calls Stop and Start.
func (c *Cluster) Restart(ctx context.Context, daemon string) error {
	return c.runDaemon(ctx, "restart", daemon)
}

// Signal sends a signal to a daemon. SIGSTOP makes it hang.
func (c *Cluster) Signal(ctx context.Context, daemon string, signal syscall.Signal) error {
	return c.runDaemon(ctx, "signal", strconv.Itoa(int(signal)), daemon)
}

// PID returns the process id of a daemon in the pid namespace of this machine. It returns an error
// if the daemon is not running.
func (c *Cluster) PID(ctx context.Context, daemon string) (int, error) {
	out, err := c.runScript(ctx, "daemon", "--dir", c.Dir, "pid", daemon)
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return 0, fmt.Errorf("reading the pid of %s: %w", daemon, err)
	}
	return pid, nil
}

func (c *Cluster) runDaemon(ctx context.Context, args ...string) error {
	_, err := c.runScript(ctx, "daemon", append([]string{"--dir", c.Dir}, args...)...)
	return err
}

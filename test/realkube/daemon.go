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

// Start starts a daemon that does not run and returns when it has a pid, which
// is before it answers. args go to the end of its command line.
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

func (c *Cluster) daemon(ctx context.Context, args ...string) error {
	_, err := c.script(ctx, "daemon", append([]string{"--dir", c.Dir}, args...)...)
	return err
}

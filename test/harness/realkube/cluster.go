package realkube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Cluster is a running Kubernetes cluster. Its methods are safe for concurrent use, except
// [Cluster.Close], which must be called last.
type Cluster struct {
	// Dir is the cluster's folder; keys and certificates are in pki, the
	// daemons' logs in log.
	Dir string
	// HostAddress is the address at which the cluster reaches this machine, and at which the API
	// server listens: 127.0.0.1, or with a node an address that its pods can
	// reach and no other machine.
	HostAddress string

	config  Config
	scripts string
	tempDir string
}

// Start starts a cluster and returns within seconds, when the API server is ready and the
// controllers run. Each cluster has its own ports and its own folder, so several may run at once.
// The cluster ends at Close, or with this process.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	c, err := prepareCluster(config)
	if err != nil {
		return nil, err
	}
	// Without it the cluster would outlive a test that is killed.
	if err := c.runUp(ctx, "--owner", strconv.Itoa(os.Getpid())); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// prepareCluster creates the folder of a cluster before its start.
func prepareCluster(config Config) (*Cluster, error) {
	scripts, err := scriptsDir()
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "kube")
	if err != nil {
		return nil, fmt.Errorf("creating the cluster's folder: %w", err)
	}
	return &Cluster{Dir: filepath.Join(temp, "c"), config: config, scripts: scripts, tempDir: temp}, nil
}

func (c *Cluster) runUp(ctx context.Context, flags ...string) error {
	envFile := filepath.Join(c.tempDir, "env")
	args := slices.Concat([]string{"--dir", c.Dir, "--env-file", envFile}, c.config.flags(), flags)
	if _, err := c.runScript(ctx, "up", args...); err != nil {
		return fmt.Errorf("starting kubernetes: %w", err)
	}
	env, err := os.ReadFile(envFile)
	if err != nil {
		return fmt.Errorf("reading where kubernetes listens: %w", err)
	}
	for line := range strings.Lines(string(env)) {
		if address, found := strings.CutPrefix(line, "KUBE_HOST_ADDRESS="); found {
			c.HostAddress = strings.TrimSpace(address)
		}
	}
	return nil
}

// Close ends every process of the cluster and removes its folder. A second Close does nothing.
func (c *Cluster) Close() error {
	// Close takes no context: the cluster must end in any case, and the script has its own
	// timeout.
	out, err := exec.Command(filepath.Join(c.scripts, "down"), "--dir", c.Dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ending kubernetes: %w: %s", err, out)
	}
	if err := os.RemoveAll(c.tempDir); err != nil {
		return fmt.Errorf("removing the cluster's folder: %w", err)
	}
	return nil
}

// Logs returns the end of each daemon's log, with headings.
func (c *Cluster) Logs() string {
	const limit = 16 << 10
	files, err := filepath.Glob(filepath.Join(c.Dir, "log", "*.log"))
	if err != nil {
		return err.Error()
	}
	var logs strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			content = []byte(err.Error())
		}
		content = content[max(0, len(content)-limit):]
		fmt.Fprintf(&logs, "==> %s <==\n%s\n", filepath.Base(file), content)
	}
	return logs.String()
}

// runScript runs one of the scripts and returns its standard output.
func (c *Cluster) runScript(ctx context.Context, name string, args ...string) (string, error) {
	return runCommand(ctx, exec.CommandContext(ctx, filepath.Join(c.scripts, name), args...))
}

// runCommand runs a command that was created with ctx and returns its standard output. An error
// contains its standard error.
func runCommand(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second // a process that the script started may keep its output open
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return stdout.String(), fmt.Errorf("running %s %s: %w: %s",
			filepath.Base(cmd.Path), strings.Join(cmd.Args[1:], " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}

// scriptsDir returns hack/kube of the module that contains the working directory.
func scriptsDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the module's root: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "hack", "kube"), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding the module's root: no go.mod above the working directory")
		}
		dir = parent
	}
}

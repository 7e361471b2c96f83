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

// Cluster is a running Kubernetes cluster. Its methods may be called from
// several goroutines, save [Cluster.Close], which comes last.
type Cluster struct {
	// Dir is the cluster's folder; keys and certificates are in pki, the
	// daemons' logs in log.
	Dir string
	// HostAddress is where the cluster reaches this machine, and where the API
	// server listens: 127.0.0.1, or with a node an address that its pods can
	// reach and no other machine.
	HostAddress string

	config  Config
	scripts string
	temp    string
}

// Start starts a cluster and returns when its API server is ready and its
// controllers run, in seconds. It has ports and a folder of its own, so several
// may run at once. It ends at Close, or with this process.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	c, err := prepare(config)
	if err != nil {
		return nil, err
	}
	// Without it the cluster would outlive a test that is killed.
	if err := c.up(ctx, "--owner", strconv.Itoa(os.Getpid())); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// prepare makes the folder of a cluster that is yet to start.
func prepare(config Config) (*Cluster, error) {
	scripts, err := scriptsDir()
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "kube")
	if err != nil {
		return nil, fmt.Errorf("making the cluster's folder: %w", err)
	}
	return &Cluster{Dir: filepath.Join(temp, "c"), config: config, scripts: scripts, temp: temp}, nil
}

func (c *Cluster) up(ctx context.Context, flags ...string) error {
	envFile := filepath.Join(c.temp, "env")
	args := slices.Concat([]string{"--dir", c.Dir, "--env-file", envFile}, c.config.flags(), flags)
	if _, err := c.script(ctx, "up", args...); err != nil {
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

// Close ends every process of the cluster and removes its folder. A second Close
// does nothing.
func (c *Cluster) Close() error {
	// Without a context: a cluster is ended in any case, and the script gives
	// up by itself.
	out, err := exec.Command(filepath.Join(c.scripts, "down"), "--dir", c.Dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ending kubernetes: %w: %s", err, out)
	}
	if err := os.RemoveAll(c.temp); err != nil {
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

// script runs one of the scripts and returns its standard output.
func (c *Cluster) script(ctx context.Context, name string, args ...string) (string, error) {
	return output(ctx, exec.CommandContext(ctx, filepath.Join(c.scripts, name), args...))
}

// output runs a command that was made with ctx and returns its standard output;
// an error holds what it complained about.
func output(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second // what a script has started may hold on to its output
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return stdout.String(), fmt.Errorf("running %s %s: %w: %s",
			filepath.Base(cmd.Path), strings.Join(cmd.Args[1:], " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}

// scriptsDir finds hack/kube in the module that the working directory is in.
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

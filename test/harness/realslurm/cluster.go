package realslurm

import (
	"bytes"
	"cmp"
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

// Cluster is a running Slurm cluster. Its methods are safe for concurrent use, except
// [Cluster.Close], which must be called last.
type Cluster struct {
	// URL is the URL of slurmrestd, http://127.0.0.1:PORT.
	URL string
	// Socket is the path of the unix socket that slurmrestd listens on too.
	Socket string
	// TokenFile contains a token of user slurm that is valid for 30 days.
	TokenFile string
	// KeyFile contains the HS256 key that signs the tokens.
	KeyFile string
	// Version is the Slurm version, such as 26.05.
	Version string
	// Dir is the cluster's folder, mounted as /inst inside the cluster. Everybody may write to its
	// folder scratch; the daemons' logs are in log.
	Dir string

	config  Config
	scripts string
	tempDir string
}

// Start starts a cluster and returns within seconds, when all its nodes are idle. Each cluster has
// its own ports and its own folder, so several may run at once. The cluster ends at Close, or with
// this process.
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
	temp, err := os.MkdirTemp("", "slurm")
	if err != nil {
		return nil, fmt.Errorf("creating the cluster's folder: %w", err)
	}
	config.Version = cmp.Or(config.Version, "26.05")
	config.Nodes = cmp.Or(config.Nodes, 4)
	dir := filepath.Join(temp, "c")
	return &Cluster{
		Version:   config.Version,
		Dir:       dir,
		Socket:    filepath.Join(dir, "sock", "slurmrestd.sock"),
		TokenFile: filepath.Join(dir, "token"),
		KeyFile:   filepath.Join(dir, "etc", "jwt_hs256.key"),
		config:    config,
		scripts:   scripts,
		tempDir:   temp,
	}, nil
}

func (c *Cluster) runUp(ctx context.Context, flags ...string) error {
	envFile := filepath.Join(c.tempDir, "env")
	args := slices.Concat([]string{"--dir", c.Dir, "--env-file", envFile}, c.config.flags(), flags)
	if _, err := c.runScript(ctx, "up", args...); err != nil {
		return fmt.Errorf("starting slurm %s: %w", c.Version, err)
	}
	env, err := os.ReadFile(envFile)
	if err != nil {
		return fmt.Errorf("reading where slurm %s listens: %w", c.Version, err)
	}
	for line := range strings.Lines(string(env)) {
		if url, found := strings.CutPrefix(line, "SLURM_URL="); found {
			c.URL = strings.TrimSpace(url)
		}
	}
	return nil
}

// Close ends every process of the cluster and removes its folder.
func (c *Cluster) Close() error {
	// Close takes no context: the cluster must end in any case, and the script has its own
	// timeout.
	out, err := exec.Command(filepath.Join(c.scripts, "down"), "--dir", c.Dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ending slurm %s: %w: %s", c.Version, err, out)
	}
	if err := os.RemoveAll(c.tempDir); err != nil {
		return fmt.Errorf("removing the cluster's folder: %w", err)
	}
	return nil
}

// Run runs a Slurm command inside the cluster, as root if user is empty, else
// as alice (account ml, QOS high allowed), bob (account hpc, operator) or carol
// (both accounts), in the user's home. It returns the command's output; an error contains its
// standard error. Pass a batch script with --wrap. A command that failed to create its auth token,
// which happens on a busy machine, has sent no request and is run again.
func (c *Cluster) Run(ctx context.Context, user string, argv ...string) (string, error) {
	args := append([]string{"--dir", c.Dir, "--as", cmp.Or(user, "root")}, argv...)
	const attempts = 3
	for i := 1; ; i++ {
		out, err := c.runScript(ctx, "run", args...)
		if err == nil || i == attempts || !strings.Contains(err.Error(), "failed to create token") {
			return out, err
		}
	}
}

// Accounting reports whether the cluster has a slurmdbd, its own or another cluster's.
func (c *Cluster) Accounting() bool { return !c.config.WithoutAccounting }

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
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, filepath.Join(c.scripts, name), args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second // a process that the script started may keep its output open
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return stdout.String(), fmt.Errorf("running %s %s: %w: %s",
			name, strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}

// scriptsDir returns hack/slurm of the module that contains the working directory.
func scriptsDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the module's root: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "hack", "slurm"), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding the module's root: no go.mod above the working directory")
		}
		dir = parent
	}
}

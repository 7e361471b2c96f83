// Package instance runs the scripts of hack/kube and hack/slurm, which start real clusters. Each instance has its own
// folder, and daemons that can be started and stopped one by one.
package instance

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// Instance is a cluster that scripts start. Its methods are safe for concurrent use, except
// [Instance.Close], which must be called last.
type Instance struct {
	// Dir is the cluster's folder; the daemons' logs are in log.
	Dir string

	kind    string // folder of the scripts in hack
	scripts string
	tempDir string
}

// Prepare returns an instance that does not run yet. kind is the folder of its scripts in hack.
func Prepare(kind string) (Instance, error) {
	scripts, err := ScriptsDir(kind)
	if err != nil {
		return Instance{}, err
	}
	temp, err := os.MkdirTemp("", kind)
	if err != nil {
		return Instance{}, fmt.Errorf("creating the cluster's folder: %w", err)
	}
	return Instance{Dir: filepath.Join(temp, "c"), kind: kind, scripts: scripts, tempDir: temp}, nil
}

// Up starts the cluster and returns the variables that the script wrote, such as addresses. The cluster ends at Close,
// or with this process, so it does not outlive a killed test.
func (i *Instance) Up(ctx context.Context, flags ...string) (map[string]string, error) {
	return i.up(ctx, os.Getpid(), flags)
}

// up starts the cluster. It ends with the process of pid owner.
func (i *Instance) up(ctx context.Context, owner int, flags []string) (map[string]string, error) {
	envFile := filepath.Join(i.tempDir, "env")
	args := slices.Concat([]string{"--dir", i.Dir, "--env-file", envFile}, flags,
		[]string{"--owner", strconv.Itoa(owner)})
	if _, err := i.RunScript(ctx, "up", args...); err != nil {
		return nil, fmt.Errorf("starting %s: %w", i.kind, err)
	}
	content, err := os.ReadFile(envFile)
	if err != nil {
		return nil, fmt.Errorf("reading the addresses of %s: %w", i.kind, err)
	}
	env := map[string]string{}
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(line, "=")
		env[name] = strings.TrimSpace(value)
	}
	return env, nil
}

// Close ends every process of the cluster and removes its folder. A second Close does nothing.
func (i *Instance) Close() error {
	// Close takes no context: the cluster must end in any case, and the script has its own
	// timeout.
	out, err := exec.Command(filepath.Join(i.scripts, "down"), "--dir", i.Dir).CombinedOutput() //nolint:noctx // see above
	if err != nil {
		return fmt.Errorf("ending %s: %w: %s", i.kind, err, out)
	}
	if err := os.RemoveAll(i.tempDir); err != nil {
		return fmt.Errorf("removing the cluster's folder: %w", err)
	}
	return nil
}

// Logs returns the end of each daemon's log, with headings.
func (i *Instance) Logs() string {
	const limit = 16 << 10
	files, err := filepath.Glob(filepath.Join(i.Dir, "log", "*.log"))
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

// Script returns a command that runs one of the scripts. It is killed when ctx ends.
func (i *Instance) Script(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, filepath.Join(i.scripts, name), args...)
}

// RunScript runs one of the scripts and returns its standard output.
func (i *Instance) RunScript(ctx context.Context, name string, args ...string) (string, error) {
	return RunCommand(ctx, i.Script(ctx, name, args...))
}

// RunCommand runs a command that was created with ctx and returns its standard output. An error
// contains its standard error.
func RunCommand(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second // a process that the command started may keep its output open
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return stdout.String(), fmt.Errorf("running %s %s: %w: %s",
			filepath.Base(cmd.Path), strings.Join(cmd.Args[1:], " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}

// ScriptsDir returns the folder of scripts of a kind in the module that contains the working directory.
func ScriptsDir(kind string) (string, error) {
	root, err := process.FindModuleRoot()
	return filepath.Join(root, "hack", kind), err
}

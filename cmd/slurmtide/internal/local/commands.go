package local

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
)

// terminationGrace is how long a program may take to exit after SIGTERM.
const terminationGrace = 30 * time.Second

// errorTailLines is the number of output lines that an error of a failed program includes.
const errorTailLines = 15

// scriptStep returns a step that runs a script of the repository and reports the script's progress
// lines.
func (l *Demo) scriptStep(name string, args ...string) func(context.Context, func(steps.Progress)) error {
	return func(ctx context.Context, report func(steps.Progress)) error {
		var last steps.Progress
		_, err := l.runCommand(ctx, exec.CommandContext(ctx, filepath.Join(l.repo, name), args...), func(line string) {
			last = steps.ParseScriptLine(last, line)
			report(last)
		})
		return err
	}
}

// rootStep returns a step that runs a script which builds a root file system with mmdebstrap. The
// progress comes from the build log in a folder of the cache.
func (l *Demo) rootStep(folder, name string, args ...string) func(context.Context, func(steps.Progress)) error {
	return func(ctx context.Context, report func(steps.Progress)) error {
		log := filepath.Join(cacheDir(), folder, "build.log")
		var mu sync.Mutex
		building := false
		watch, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			callEvery(watch, time.Second, func() {
				mu.Lock()
				defer mu.Unlock()
				if text, err := os.ReadFile(log); building && err == nil {
					report(steps.ParseRootLog(string(text)))
				}
			})
		}()
		_, err := l.runCommand(ctx, exec.CommandContext(ctx, filepath.Join(l.repo, name), args...), func(line string) {
			mu.Lock()
			defer mu.Unlock()
			building = strings.Contains(line, "] building the root")
			report(steps.ParseScriptLine(steps.Progress{}, line))
		})
		stop()
		<-done
		return err
	}
}

// callEvery calls do periodically until the context ends.
func callEvery(ctx context.Context, pause time.Duration, do func()) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}

// retryUntilDone calls do until it succeeds or the context ends. The error then joins the cause and
// do's last error.
func retryUntilDone(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// cacheDir returns the cache folder of the scripts.
func cacheDir() string {
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "slurmtide")
	}
	home := os.Getenv("HOME")
	if home == "" {
		home = "/root"
	}
	return filepath.Join(home, ".cache", "slurmtide")
}

// runCommand runs a command that was created with ctx and returns its standard output. It passes
// each line of standard error to heard, unless heard is nil, and appends it to the file log. When
// ctx ends, it sends SIGTERM to the command's process group and waits.
func (l *Demo) runCommand(ctx context.Context, cmd *exec.Cmd, heard func(string)) (string, error) {
	log, err := os.OpenFile(filepath.Join(l.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("opening the log: %w", err)
	}
	defer log.Close()
	_, _ = fmt.Fprintf(log, "%s %s\n", time.Now().Format(time.TimeOnly), strings.Join(cmd.Args, " "))
	// Ctrl-C in a terminal must reach only this program, which then stops its commands.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = terminationGrace
	if cmd.Dir == "" {
		cmd.Dir = l.repo
	}
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	read, write := io.Pipe()
	cmd.Stderr = write
	tail := make(chan []string, 1)
	go func() { tail <- readLines(io.TeeReader(read, log), heard) }()
	err = cmd.Run()
	_ = write.Close()
	lines := <-tail
	if err == nil {
		return stdout.String(), nil
	}
	if ctx.Err() != nil {
		return stdout.String(), context.Cause(ctx)
	}
	return stdout.String(), fmt.Errorf("running %s: %w\n%s", filepath.Base(cmd.Path), err, strings.Join(lines, "\n"))
}

// readLines passes each line to heard and returns the last lines.
func readLines(from io.Reader, heard func(string)) []string {
	var lines []string
	scanner := bufio.NewScanner(from)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if heard != nil {
			heard(scanner.Text())
		}
		lines = append(lines, scanner.Text())
		lines = lines[max(0, len(lines)-errorTailLines):]
	}
	_, _ = io.Copy(io.Discard, from)
	return lines
}

// clusterTool returns a command that runs kubectl or helm as the cluster's administrator.
func (l *Demo) clusterTool(ctx context.Context, name string, args ...string) *exec.Cmd {
	kube := l.kubeDir()
	cmd := exec.CommandContext(ctx, filepath.Join(kube, "bin", name), args...) //nolint:gosec // our own
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+l.kubeconfig(), "KUBECACHEDIR="+filepath.Join(kube, "cache"),
		"HELM_CACHE_HOME="+filepath.Join(kube, "helm"), "HELM_CONFIG_HOME="+filepath.Join(kube, "helm"),
		"HELM_DATA_HOME="+filepath.Join(kube, "helm"),
		"NO_PROXY=*", "no_proxy=*")
	return cmd
}

// kubectl runs kubectl in the namespace of the demo.
func (l *Demo) kubectl(ctx context.Context, args ...string) (string, error) {
	out, err := l.runCommand(ctx, l.clusterTool(ctx, "kubectl", args...), nil)
	return strings.TrimSpace(out), err
}

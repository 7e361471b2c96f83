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

// patience is how long a program that is told to end may take to clear up.
const patience = 30 * time.Second

// shown is how many lines of a program that failed an error shows.
const shown = 15

// script returns what runs a script of the repository, and tells what it says.
func (l *Local) script(name string, args ...string) func(context.Context, func(steps.Progress)) error {
	return func(ctx context.Context, tell func(steps.Progress)) error {
		var last steps.Progress
		_, err := l.run(ctx, exec.CommandContext(ctx, filepath.Join(l.repo, name), args...), func(line string) {
			last = steps.OfLine(last, line)
			tell(last)
		})
		return err
	}
}

// rooted runs a script that makes a root with mmdebstrap, whose log is in a folder of
// the cache.
func (l *Local) rooted(folder, name string, args ...string) func(context.Context, func(steps.Progress)) error {
	return func(ctx context.Context, tell func(steps.Progress)) error {
		log := filepath.Join(cacheDir(), folder, "build.log")
		var mu sync.Mutex
		building := false
		watch, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			every(watch, time.Second, func() {
				mu.Lock()
				defer mu.Unlock()
				if text, err := os.ReadFile(log); building && err == nil {
					tell(steps.OfRootLog(string(text)))
				}
			})
		}()
		_, err := l.run(ctx, exec.CommandContext(ctx, filepath.Join(l.repo, name), args...), func(line string) {
			mu.Lock()
			defer mu.Unlock()
			building = strings.Contains(line, "] building the root")
			tell(steps.OfLine(steps.Progress{}, line))
		})
		stop()
		<-done
		return err
	}
}

// every does something again and again until the context ends.
func every(ctx context.Context, pause time.Duration, do func()) {
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

// await does something until it is no error, or the context ends; the error is then of
// both.
func await(ctx context.Context, do func() error) error {
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

// cacheDir is where the scripts keep what they build.
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

// run runs a command that was made with ctx and returns its standard output. heard gets
// each line of its standard error, which is also kept in the file log; nil hears nothing.
// When ctx ends, the command and what it started in its own process group is told to end,
// and waited for.
func (l *Local) run(ctx context.Context, cmd *exec.Cmd, heard func(string)) (string, error) {
	log, err := os.OpenFile(filepath.Join(l.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("opening the log: %w", err)
	}
	defer log.Close()
	_, _ = fmt.Fprintf(log, "%s %s\n", time.Now().Format(time.TimeOnly), strings.Join(cmd.Args, " "))
	// A terminal's Ctrl-C is for this program, which then ends its commands in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = patience
	if cmd.Dir == "" {
		cmd.Dir = l.repo
	}
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	read, write := io.Pipe()
	cmd.Stderr = write
	tail := make(chan []string, 1)
	go func() { tail <- listen(io.TeeReader(read, log), heard) }()
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

// listen hears each line, and returns the last ones.
func listen(from io.Reader, heard func(string)) []string {
	var lines []string
	scanner := bufio.NewScanner(from)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if heard != nil {
			heard(scanner.Text())
		}
		lines = append(lines, scanner.Text())
		lines = lines[max(0, len(lines)-shown):]
	}
	_, _ = io.Copy(io.Discard, from)
	return lines
}

// tool makes a command of the cluster's: kubectl or helm, as the administrator.
func (l *Local) tool(ctx context.Context, name string, args ...string) *exec.Cmd {
	kube := l.kubeDir()
	cmd := exec.CommandContext(ctx, filepath.Join(kube, "bin", name), args...) //nolint:gosec // our own
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+filepath.Join(kube, "pki", "admin.kubeconfig"), "KUBECACHEDIR="+filepath.Join(kube, "cache"),
		"HELM_CACHE_HOME="+filepath.Join(kube, "helm"), "HELM_CONFIG_HOME="+filepath.Join(kube, "helm"), "HELM_DATA_HOME="+filepath.Join(kube, "helm"),
		"NO_PROXY=*", "no_proxy=*")
	return cmd
}

func (l *Local) kubectl(ctx context.Context, args ...string) (string, error) {
	out, err := l.run(ctx, l.tool(ctx, "kubectl", append([]string{"--namespace", namespace}, args...)...), nil)
	return strings.TrimSpace(out), err
}

// apply makes or changes the objects of a YAML text.
func (l *Local) apply(ctx context.Context, text string) error {
	cmd := l.tool(ctx, "kubectl", "apply", "--filename", "-")
	cmd.Stdin = strings.NewReader(text)
	_, err := l.run(ctx, cmd, nil)
	return err
}

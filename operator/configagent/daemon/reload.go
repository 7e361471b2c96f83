package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Reloader makes a slurmd or a sackd that runs in the same process namespace read its keys again. On SIGHUP these daemons
// execute themselves again with the same process id, and jobs continue (docs/development/slurm.md, "Several keys of
// auth/slurm").
type Reloader struct {
	// Daemon is the name of the program, and Proc where proc(5) is mounted.
	Daemon, Proc string
	// Timeout is how long the daemon may take to execute itself again.
	Timeout time.Duration
}

// Apply sends SIGHUP to the daemon and returns when it has executed itself again. A daemon that does not run, or
// ends meanwhile, reads its keys when it starts.
func (r Reloader) Apply(ctx context.Context, effect slurmconf.Effect) error {
	if effect == slurmconf.NoEffect {
		return nil
	}
	pids, err := r.findProcesses()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if err := r.reload(ctx, pid); err != nil {
			return err
		}
	}
	return nil
}

// reload makes one process read its keys again.
func (r Reloader) reload(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	// SIGHUP ends a daemon that is still starting.
	err := r.await(ctx, pid, "does not heed SIGHUP yet", func() (bool, error) { return r.catchesHangup(pid), nil })
	if err != nil {
		return err
	}
	before, err := r.threads(pid)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sending %s (process %d) a signal: %w", r.Daemon, pid, err)
	}
	return r.await(ctx, pid, "has not read its keys again", func() (bool, error) {
		after, err := r.threads(pid)
		return haveExecuted(before, after), err
	})
}

// await waits until something is true of a process, or the process has ended. Otherwise the problem is the error.
func (r Reloader) await(ctx context.Context, pid int, problem string, isDone func() (bool, error)) error {
	for {
		done, err := isDone()
		if done || err != nil || !isAlive(pid) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s (process %d) %s after %s", r.Daemon, pid, problem, r.Timeout)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// catchesHangup reports whether a process has a handler of SIGHUP (proc_pid_status(5), SigCgt).
func (r Reloader) catchesHangup(pid int) bool {
	caught, err := strconv.ParseUint(r.statusField(strconv.Itoa(pid), "SigCgt"), 16, 64)
	return err == nil && caught&(1<<(syscall.SIGHUP-1)) != 0
}

// haveExecuted reports whether a process has executed itself: that ends all threads but the main one. The daemon has
// read its keys when it has others again.
func haveExecuted(before, after []string) bool {
	return len(after) > 0 && !slices.ContainsFunc(after, func(id string) bool { return slices.Contains(before, id) })
}

// threads returns the ids of the threads of a process but the main one.
func (r Reloader) threads(pid int) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(r.Proc, strconv.Itoa(pid), "task"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it has ended
	}
	if err != nil {
		return nil, fmt.Errorf("listing the threads of %s: %w", r.Daemon, err)
	}
	var out []string
	for _, entry := range entries {
		if entry.Name() != strconv.Itoa(pid) {
			out = append(out, entry.Name())
		}
	}
	return out, nil
}

// findProcesses returns the processes of the daemon, without its children that have not executed anything yet.
func (r Reloader) findProcesses() ([]int, error) {
	entries, err := os.ReadDir(r.Proc)
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var out []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err == nil && r.isDaemon(entry.Name()) && !r.isDaemon(r.statusField(entry.Name(), "PPid")) {
			out = append(out, pid)
		}
	}
	return out, nil
}

// isDaemon reports whether a process runs the daemon. Once it has executed itself, only its arguments have its name.
func (r Reloader) isDaemon(pid string) bool {
	arguments, err := os.ReadFile(filepath.Join(r.Proc, pid, "cmdline"))
	program, _, _ := strings.Cut(string(arguments), "\x00")
	return err == nil && filepath.Base(program) == r.Daemon
}

// statusField returns a field of the status of a process, empty if the process is gone.
func (r Reloader) statusField(pid, field string) string {
	text, err := os.ReadFile(filepath.Join(r.Proc, pid, "status"))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), "\n"+field+":")
	value, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	return value
}

// HasSteps reports whether a step of a job or the session of a user runs. An extern step, which PrologFlags=Contain starts
// with each job, does not count: it runs nothing of the job, and ends only when slurmctld requests it.
func (r Reloader) HasSteps() (bool, error) {
	entries, err := os.ReadDir(r.Proc)
	if err != nil {
		return false, fmt.Errorf("listing processes: %w", err)
	}
	for _, entry := range entries {
		arguments, err := os.ReadFile(filepath.Join(r.Proc, entry.Name(), "cmdline"))
		if err == nil && isStepOrSession(string(arguments)) { // the process does not exist, or has ended
			return true, nil
		}
	}
	return false, nil
}

// isStepOrSession reports whether a process with the arguments is the slurmstepd of a step, or the sshd of a user session.
// "slurmstepd infinity" is not a step: it keeps a cgroup.
func isStepOrSession(arguments string) bool {
	program, rest, _ := strings.Cut(arguments, "\x00")
	if !strings.HasPrefix(filepath.Base(program), "slurmstepd") {
		return (strings.HasPrefix(program, "sshd: ") || strings.HasPrefix(program, "sshd-session: ")) && strings.Contains(program, "@")
	}
	return !strings.HasPrefix(rest, "infinity") && !strings.HasPrefix(program, "slurmstepd infinity") &&
		!strings.HasSuffix(program, ".extern]")
}

package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// readPid returns the process id in a pid file of a daemon.
func readPid(daemon, pidFile string) (int, error) {
	text, err := os.ReadFile(pidFile) //nolint:gosec // a flag of the agent names it
	if err != nil {
		return 0, fmt.Errorf("finding %s: %w", daemon, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("finding %s: %s has no process id", daemon, pidFile)
	}
	return pid, nil
}

// signalProcess sends a signal to the daemon whose process id a file contains. On SIGTERM a daemon writes its
// state and ends.
func signalProcess(daemon, pidFile string, signal syscall.Signal) error {
	pid, err := readPid(daemon, pidFile)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, signal); err != nil {
		return fmt.Errorf("sending %s (process %d) a signal: %w", daemon, pid, err)
	}
	return nil
}

// processID identifies a process. A later process with the same number has a later start time.
type processID struct {
	pid     int
	started string
}

// processUse is the CPU and I/O that a process has used since its start.
type processUse struct {
	cpu time.Duration
	// io is the number of bytes read and written, or 0 without permission to read it.
	io int64
}

// clockTick is the unit of times in proc_pid_stat(5). It is the same on all of Linux's architectures that run Slurm.
const clockTick = 10 * time.Millisecond

// readProcess returns the process in a pid file of slurmctld, and its use.
func readProcess(pidFile, proc string) (processID, processUse, error) {
	pid, err := readPid("slurmctld", pidFile)
	if err != nil {
		return processID{}, processUse{}, err
	}
	dir := filepath.Join(proc, strconv.Itoa(pid))
	text, err := os.ReadFile(filepath.Join(dir, "stat")) //nolint:gosec // proc(5)
	if err != nil {
		return processID{}, processUse{}, fmt.Errorf("reading process %d: %w", pid, err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may have spaces
	fields := strings.Fields(rest)
	const utime, stime, starttime = 14 - 3, 15 - 3, 22 - 3 // the third field is the first one here
	if len(fields) <= starttime {
		return processID{}, processUse{}, fmt.Errorf("reading process %d: %q has too few fields", pid, text)
	}
	user, _ := strconv.ParseInt(fields[utime], 10, 64)
	system, _ := strconv.ParseInt(fields[stime], 10, 64)
	return processID{pid, fields[starttime]}, processUse{time.Duration(user+system) * clockTick, readIO(dir)}, nil
}

// readIO returns the number of bytes that a process has read and written, or 0.
func readIO(dir string) int64 {
	text, err := os.ReadFile(filepath.Join(dir, "io")) //nolint:gosec // proc(5)
	if err != nil {
		return 0
	}
	var out int64
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && (name == "rchar" || name == "wchar") {
			out += n
		}
	}
	return out
}

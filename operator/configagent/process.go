package configagent

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
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

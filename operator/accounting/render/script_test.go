package render

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// startScript starts the script with a daemon that adds its process id to the returned file, and then runs a command.
func startScript(t *testing.T, command string) (*exec.Cmd, string) {
	t.Helper()
	dir := t.TempDir()
	daemon, started := filepath.Join(dir, "slurmdbd"), filepath.Join(dir, "started")
	if err := process.WriteProgram(daemon, fmt.Appendf(nil, "#!/bin/sh\necho $$ >>%s\n%s\n", started, command)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", slurmdbdScript, daemon, "-D")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, started
}

// awaitStarts waits for the given number of daemons and returns their process ids.
func awaitStarts(t *testing.T, started string, count int) []string {
	t.Helper()
	for range 1200 {
		text, err := os.ReadFile(started)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if ids := strings.Fields(string(text)); len(ids) >= count {
			return ids
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("slurmdbd has not started %d times", count)
	return nil
}

func TestASlurmdbdThatTheAgentEndsIsStartedAgain(t *testing.T) {
	for name, command := range map[string]string{
		"orderly":                   "trap 'exit 0' TERM; while :; do sleep 0.1; done",
		"before it handles SIGTERM": "exec sleep 600",
	} {
		t.Run(name, func(t *testing.T) { checkStartedAgain(t, command) })
	}
}

func checkStartedAgain(t *testing.T, command string) {
	t.Helper()
	cmd, started := startScript(t, command)
	for count := 1; count < 3; count++ {
		var pid int
		if _, err := fmt.Sscan(awaitStarts(t, started, count)[count-1], &pid); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	awaitStarts(t, started, 3)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("at its own end: %v", err)
	}
	if ids := awaitStarts(t, started, 3); len(ids) != 3 {
		t.Errorf("slurmdbd was started %d times", len(ids))
	}
}

func TestASlurmdbdThatFailsEndsItsContainer(t *testing.T) {
	cmd, _ := startScript(t, "exit 3")
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("it ends with %v", err)
	}
}

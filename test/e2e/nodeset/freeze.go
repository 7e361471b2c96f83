package nodeset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// freezer is the hierarchy of cgroup v1. Not even SIGKILL ends its frozen processes, unlike those of cgroup v2.
const freezer = "/sys/fs/cgroup/freezer"

// removedWithin is how long the kernel may need to empty a group after its process ends.
const removedWithin = 10 * time.Second

// MissingFreezer returns why FreezeProgram cannot run here, empty if it can.
func MissingFreezer() string {
	if _, err := os.Stat(filepath.Join(freezer, "cgroup.procs")); err != nil {
		return "no freezer of cgroup v1: " + err.Error()
	}
	return ""
}

// FreezeProgram keeps a program in the pod of a worker from ending, as if it waited for a broken disk. It returns a
// function that lets the program end.
func (w Worker) FreezeProgram(program string) (thaw func() error, err error) {
	pid, err := process.FindInPod(w.UID, program)
	if err != nil {
		return nil, err
	}
	group := filepath.Join(freezer, fmt.Sprint("slurmtide-frozen-", pid))
	if err := os.Mkdir(group, 0o755); err != nil {
		return nil, err
	}
	set := func(file, value string) error { return os.WriteFile(filepath.Join(group, file), []byte(value), 0o644) }
	thaw = func() error {
		if err := set("freezer.state", "THAWED"); err != nil {
			return err
		}
		return process.Retry(context.Background(), removedWithin, func(context.Context) error {
			_ = set("../cgroup.procs", strconv.Itoa(pid)) // it may have ended
			return os.Remove(group)
		})
	}
	return thaw, errors.Join(set("cgroup.procs", strconv.Itoa(pid)), set("freezer.state", "FROZEN"))
}

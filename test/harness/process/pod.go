package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// nameLimit is how much of its name a process shows (proc_pid_comm(5)).
const nameLimit = 15

// FindInPod finds the process of a program in the cgroup of a pod. The processes of our Kubernetes nodes are processes of this machine.
func FindInPod(podUID, program string) (int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return 0, err
	}
	var others []string
	for _, file := range files {
		groups, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(groups), podUID) {
			continue // the process has ended, or belongs to another pod
		}
		dir := filepath.Dir(file)
		comm, err := os.ReadFile(filepath.Join(dir, "comm"))
		if err != nil {
			continue
		}
		name := strings.TrimSpace(string(comm))
		if name == program[:min(len(program), nameLimit)] || startedAs(dir) == program {
			return strconv.Atoi(filepath.Base(dir))
		}
		others = append(others, name)
	}
	return 0, fmt.Errorf("no process %s in the pod, only %q", program, others)
}

// startedAs returns the name by which a program was started, empty if the process has ended. A program that has executed itself has the
// name of its file: Debian's slurmctld is slurmctld-wlm after a reconfigure.
func startedAs(dir string) string {
	arguments, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil {
		return ""
	}
	program, _, _ := strings.Cut(string(arguments), "\x00")
	return filepath.Base(program)
}

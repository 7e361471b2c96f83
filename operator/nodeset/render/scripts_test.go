package render

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// writeProgram writes an executable of that name and returns its folder.
func writeProgram(t *testing.T, name, script string) string {
	t.Helper()
	dir := t.TempDir()
	if err := process.WriteProgram(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runCommand runs a command with the folder first on the path, and returns its output.
func runCommand(t *testing.T, dir string, env []string, argv ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append([]string{"PATH=" + dir + ":" + os.Getenv("PATH")}, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func TestAStopMarksTheSlurmNodeDown(t *testing.T) {
	scontrol := func(shown string) string {
		return `if [ "$1" = show ]; then printf '` + shown + `'; exit; fi
printf '<%s>' "$@" >>"$LOG"; exit 1`
	}
	for _, tc := range []struct{ name, script, want string }{
		{"with our reason", scontrol(`NodeName=n-0\n   State=IDLE\n`),
			"<update><NodeName=n-0><State=DOWN><Reason=slurm-operator: the pod is being stopped>"},
		{"with the reason that is there",
			scontrol(`NodeName=n-0\n   State=IDLE+DRAIN+DYNAMIC_NORM ThreadsPerCore=1\n   Reason=bad disk [2] [root@2026-01-01T00:00:00]\n`),
			"<update><NodeName=n-0><State=DOWN><Reason=bad disk [2]>"},
		{"with ours on one that was resumed and kept its reason",
			scontrol(`NodeName=n-0\n   State=IDLE+DYNAMIC_NORM ThreadsPerCore=1\n   Reason=bad disk [root@2026-01-01T00:00:00]\n`),
			"<update><NodeName=n-0><State=DOWN><Reason=slurm-operator: the pod is being stopped>"},
		{"with the reason of one that is to fail",
			scontrol(`NodeName=n-0\n   State=IDLE+FAIL ThreadsPerCore=1\n   Reason=bad disk [root@2026-01-01T00:00:00]\n`),
			"<update><NodeName=n-0><State=DOWN><Reason=bad disk>"},
		{"with nothing while its reason cannot be read", `: >>"$LOG"; [ "$1" = update ] && printf '<%s>' "$@" >>"$LOG"; exit 7`, ""},
		{"with nothing if only a part of it is read in time",
			`: >>"$LOG"; [ "$1" = update ] && printf '<%s>' "$@" >>"$LOG"; printf 'NodeName=n-0\n'; exit 124`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			runCommand(t, writeProgram(t, "scontrol", tc.script), []string{"POD_HOSTNAME=n-0", "LOG=" + log}, "sh",
				"-c", stopScript, StopReason)
			got, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			if strings.TrimSpace(string(got)) != tc.want {
				t.Errorf("scontrol was run with\n%s, not\n%s", got, tc.want)
			}
		})
	}
}

func TestAStopNeverFailsWithoutSlurm(t *testing.T) {
	runCommand(t, t.TempDir(), []string{"POD_HOSTNAME=n-0"}, "sh", "-c", stopScript, StopReason)
}

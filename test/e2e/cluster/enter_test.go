//go:build e2e

package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testEntering shows the output of a job of alice and runs commands in it, as an administrator with kubectl slurm.
func (s stackEnv) testEntering() {
	s.Helper()
	plugin, err := process.Build(s.Context(), s.TempDir(), "kubectl-slurm")
	must(s.T, err)
	run := func(input string, argv ...string) (string, error) {
		cmd := exec.CommandContext(s.Context(), argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kube.Kubeconfig(), "NO_PROXY="+s.kube.HostAddress)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	job, err := s.ssh(s.Context(), "sbatch", "--parsable", "-o", "/tmp/output-%j", "-D", "/tmp", "--wrap", "'echo begun; sleep 600'")
	must(s.T, err)
	s.awaitState(job, "RUNNING")
	process.Await(s.T, func() error {
		out, err := run("", plugin, "logs", job, "--namespace", s.namespace)
		if err != nil || out != "begun" {
			return fmt.Errorf("kubectl slurm logs prints %q: %w", out, err)
		}
		return nil
	})
	shell := []string{plugin, "shell", job, "--namespace", s.namespace}
	whoAndWhere := `echo "$(id -u) $SLURM_JOB_ID $(hostname) $USER $HOME"` // workers do not know the name
	want := fmt.Sprintf("3001 %s %s alice /home/alice", job, strings.TrimSpace(s.slurm("squeue", "-h", "-j", job, "-o", "%N")))
	if out, err := run("", append(shell, "--", "sh", "-c", whoAndWhere)...); err != nil || out != want {
		s.Errorf("kubectl slurm shell with a command prints %q (%v), want %q", out, err, want)
	}
	if out, err := run(whoAndWhere+"\n", shell...); err != nil || out != want {
		s.Errorf("kubectl slurm shell with a script prints %q (%v), want %q", out, err, want)
	}
	_, err = run("", append(shell, "--", "sh", "-c", "exit 3")...)
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		s.Errorf("kubectl slurm shell of a command that ends with 3: %v", err)
	}
	// script gives the plugin a terminal, whose name only a step with --pty has.
	out, err := run("tty; exit\n", "script", "--quiet", "--return", "--command", strings.Join(shell, " "), "/dev/null")
	if err != nil || !strings.Contains(out, "/dev/pts/") {
		s.Errorf("kubectl slurm shell on a terminal prints %q (%v)", out, err)
	}
	s.slurm("scancel", job)
}

package realslurm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// Shell is a persistent root shell inside the cluster, for tests that run very many commands:
// [Cluster.Run] enters the cluster's namespaces for each command. Its methods are not safe for
// concurrent use.
type Shell struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
}

// shellMark precedes the exit status at the end of a script's output.
const shellMark = "--end-of-script--"

// OpenShell starts a shell. It ends at Close, with ctx, or with the cluster.
func (c *Cluster) OpenShell(ctx context.Context) (*Shell, error) {
	cmd := c.Script(ctx, "run", "--dir", c.Dir, "--as", "root", "bash")
	cmd.WaitDelay = time.Second // a process that the shell started may keep its output open
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("opening a shell: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("opening a shell: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("opening a shell: %w", err)
	}
	return &Shell{cmd: cmd, stdin: stdin, stdout: bufio.NewReader(stdout)}, nil
}

// Run runs a script and returns its standard output and standard error. It returns an error if the
// last command of the script fails.
func (s *Shell) Run(script string) (string, error) {
	if _, err := fmt.Fprintf(s.stdin, "{ %s\n} 2>&1 </dev/null; status=$?; echo; echo %s $status\n", script, shellMark); err != nil {
		return "", fmt.Errorf("writing to the shell: %w", err)
	}
	var out strings.Builder
	for {
		line, err := s.stdout.ReadString('\n')
		if err != nil {
			return out.String(), fmt.Errorf("reading from the shell: %w: %s", err, out.String())
		}
		if status, end := strings.CutPrefix(line, shellMark); end {
			text := strings.TrimSuffix(out.String(), "\n")
			if status = strings.TrimSpace(status); status != "0" {
				return text, fmt.Errorf("running %q: exit status %s: %s", script, status, strings.TrimSpace(text))
			}
			return text, nil
		}
		out.WriteString(line)
	}
}

// Close ends the shell.
func (s *Shell) Close() error {
	var exit *exec.ExitError
	if err := errors.Join(s.stdin.Close(), s.cmd.Wait()); err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("closing the shell: %w", err)
	}
	return nil
}

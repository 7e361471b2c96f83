package accounts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// sacctmgr runs sacctmgr with a slurm.conf.
type sacctmgr struct{ program, conf string }

// commandError is of a sacctmgr that ends with another status than 0, with all that it has printed.
type commandError struct{ output string }

func (e *commandError) Error() string {
	return "sacctmgr: " + Truncate(strings.TrimSpace(e.output), maxReason)
}

// run runs sacctmgr and returns its standard output. The error is *commandError for a status other than 0, and
// *RefusedError if the program is missing.
func (s sacctmgr) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.program, args...) //nolint:gosec // the program is given by whoever starts the agent
	cmd.Env = append(slurmconf.CommandEnvironment(os.Environ()), "SLURM_CONF="+s.conf, "LC_ALL=C.UTF-8")
	// The answer to its questions is no: a trial changes nothing. At the end of its input it would ask forever.
	cmd.Stdin = strings.NewReader(strings.Repeat("n\n", 100))
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return stdout.String(), nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("running sacctmgr: %w", ctx.Err())
	case errors.As(err, &ended):
		return "", &commandError{stderr.String() + stdout.String()}
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return "", &RefusedError{"the image of slurmdbd has no sacctmgr"}
	}
	return "", fmt.Errorf("running sacctmgr: %w", err)
}

// list returns the rows of "sacctmgr show", split into fields.
func (s sacctmgr) list(ctx context.Context, args ...string) ([][]string, error) {
	out, err := s.run(ctx, append([]string{"-nP", "show"}, args...)...)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for line := range strings.Lines(out) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			rows = append(rows, strings.Split(line, "|"))
		}
	}
	return rows, nil
}

// names returns the first field of each row of "sacctmgr show".
func (s sacctmgr) names(ctx context.Context, args ...string) ([]string, error) {
	rows, err := s.list(ctx, args...)
	var out []string
	for _, row := range rows {
		out = append(out, row[0])
	}
	return out, err
}

// associations returns the accounts and users of a cluster. A line that cannot be read is an error, because removals
// depend on all lines.
func (s sacctmgr) associations(ctx context.Context, cluster string) ([]Association, error) {
	rows, err := s.list(ctx, "assoc", "where", "cluster="+cluster, "format=account,user,partition")
	var out []Association
	for _, row := range rows {
		if len(row) != 3 || row[0] == "" {
			return nil, &WaitingError{Reason: fmt.Sprintf("the line %q of sacctmgr cannot be read", strings.Join(row, "|"))}
		}
		out = append(out, Association{Account: row[0], User: row[1], Partition: row[2]})
	}
	return out, err
}

package configagent

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Slurmctld is the running slurmctld.
type Slurmctld struct {
	// Scontrol is the program, and PidFile the file with the process id of slurmctld.
	Scontrol, PidFile string
	// Timeout is how long slurmctld may take to answer again.
	Timeout time.Duration
}

// Apply makes slurmctld read its configuration again, and returns when it answers. For a restart it ends
// slurmctld, which Kubernetes starts again.
func (s Slurmctld) Apply(ctx context.Context, effect slurmconf.Effect) error {
	switch effect {
	case slurmconf.NoEffect:
		return nil
	case slurmconf.NeedsReconfigure:
		if err := s.run(ctx, "reconfigure"); err != nil {
			return err
		}
	case slurmconf.NeedsRestart:
		if err := signalProcess("slurmctld", s.PidFile, syscall.SIGTERM); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	for {
		err := s.run(ctx, "ping")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("slurmctld does not answer %s after it was given the configuration: %w", s.Timeout, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// run runs scontrol. Its output is the error.
func (s Slurmctld) run(ctx context.Context, command string) error {
	out, err := exec.CommandContext(ctx, s.Scontrol, command).CombinedOutput() //nolint:gosec // see Slurmctld
	if err == nil && command == "ping" && !strings.Contains(string(out), " is UP") {
		return fmt.Errorf("scontrol ping: %s", strings.TrimSpace(string(out)))
	}
	if err != nil {
		return fmt.Errorf("scontrol %s: %w: %s", command, err, strings.TrimSpace(string(out)))
	}
	return nil
}

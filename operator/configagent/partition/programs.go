package partition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// The states of a partition (scontrol(1)).
const (
	Up       = "UP"
	Down     = "DOWN"
	Drain    = "DRAIN"
	Inactive = "INACTIVE"
)

// Programs runs Slurm's programs as the user of the agent, who is privileged in Slurm.
type Programs struct {
	// Scontrol is the path of scontrol. The other programs are in its folder.
	Scontrol string
	// Execute runs a program and returns its output. nil starts a process.
	Execute func(ctx context.Context, program string, args ...string) (string, error)
}

// shownPartition matches the name and the state in a line of "scontrol --oneliner show partitions". A name may contain spaces.
var shownPartition = regexp.MustCompile(`(?m)^PartitionName=(.+?) AllowGroups=.* State=(\S+)`)

// States returns the states of all partitions by name, including hidden ones.
func (p Programs) States(ctx context.Context) (map[string]string, error) {
	shown, err := p.Run(ctx, "scontrol", "--all", "--oneliner", "show", "partitions")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, line := range shownPartition.FindAllStringSubmatch(shown, -1) {
		out[line[1]] = line[2]
	}
	return out, nil
}

// SetState sets the state of a partition.
func (p Programs) SetState(ctx context.Context, partition, state string) error {
	_, err := p.Run(ctx, "scontrol", "update", "PartitionName="+partition, "State="+state)
	return err
}

// statesPerRead is how many partitions SetStates sets until it reads their states again. A call of scontrol takes 20 ms.
const statesPerRead = 16

// SetStates sets the states of partitions, and returns the ones that it set. A partition that cannot be set is an error; the
// others are set nevertheless while slurmctld answers. from may have the current states: SetStates then skips a partition whose
// state changes while it sets others.
func (p Programs) SetStates(ctx context.Context, states, from map[string]string) (set map[string]string, err error) {
	set = map[string]string{}
	failed, now := 0, from
	for i, name := range slices.Sorted(maps.Keys(states)) {
		if i > 0 && i%statesPerRead == 0 && from != nil {
			latest, away := p.States(ctx)
			if away != nil {
				err = cmp.Or(err, away)
				break
			}
			now = latest
		}
		if now[name] != from[name] {
			continue
		}
		refused := p.SetState(ctx, name, states[name])
		if refused == nil {
			set[name] = states[name]
			continue
		}
		failed++
		err = cmp.Or(err, refused)
		if _, away := p.States(ctx); away != nil {
			break
		}
	}
	if failed > 1 {
		err = fmt.Errorf("%d partitions are not set, the first one for: %w", failed, err)
	}
	return set, err
}

// shownHidden matches the option Hidden of a partition in the same kind of line as shownPartition.
var shownHidden = regexp.MustCompile(`(?m)^PartitionName=(.+?) AllowGroups=.* Hidden=(YES|NO) `)

// CheckPrivilege returns an error if the user of the agent may not change partitions. It sets Hidden of one partition to its
// current value: scontrol does not send an empty update, and an update of the state could undo what another agent does at the same
// time.
func (p Programs) CheckPrivilege(ctx context.Context) error {
	shown, err := p.Run(ctx, "scontrol", "--all", "--oneliner", "show", "partitions")
	if err != nil {
		return err
	}
	first := shownHidden.FindStringSubmatch(shown)
	switch {
	case first != nil:
		_, err = p.Run(ctx, "scontrol", "update", "PartitionName="+first[1], "Hidden="+first[2])
	case strings.TrimSpace(shown) != "" && shownPartition.MatchString(shown):
		err = errors.New("scontrol does not show whether partitions are hidden")
	}
	return err
}

// bootTime is when slurmctld started, in "scontrol show config".
var bootTime = regexp.MustCompile(`(?m)^BOOT_TIME\s*= (\S+)$`)

// StartTime returns when slurmctld started or executed itself, to the second.
func (p Programs) StartTime(ctx context.Context) (time.Time, error) {
	shown, err := p.Run(ctx, "scontrol", "show", "config")
	if err != nil {
		return time.Time{}, err
	}
	at := bootTime.FindStringSubmatch(shown)
	if at == nil {
		return time.Time{}, errors.New("scontrol shows no BOOT_TIME")
	}
	return time.ParseInLocation("2006-01-02T15:04:05", at[1], time.Local)
}

// Run returns the output of a program. Its error output is the error.
func (p Programs) Run(ctx context.Context, program string, args ...string) (string, error) {
	if p.Execute != nil {
		return p.Execute(ctx, program, args...)
	}
	path := strings.TrimSuffix(p.Scontrol, filepath.Base(p.Scontrol)) + program
	if program == "scontrol" {
		path = p.Scontrol
	}
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // see Programs
	cmd.Env = slurmconf.CommandEnvironment(os.Environ())
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return string(out), nil
}

package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Gate is what jobs pass when they start. All fields are required.
type Gate struct {
	// Scontrol is the program. sdiag and squeue are beside it.
	Scontrol string
	// Conf is slurm.conf. A reconfigure gives partitions the states in it.
	Conf string
	// File keeps the names of the partitions that Close sets DOWN until they are UP again. It is in StateSaveLocation, so
	// that every agent of the cluster finds it.
	File string
	Log  *slog.Logger
}

// launchDelay is how long Close waits for launches. They take a fraction of a second, but nodes that have to be powered up
// take minutes.
const launchDelay = 5 * time.Second

// Close sets the partitions that are UP to DOWN, and returns when the jobs that have started before have reached their nodes,
// or have taken longer than launchDelay. After an error the gate may be closed in part; Open opens it.
func (g Gate) Close(ctx context.Context) error {
	shown, err := g.runSlurmProgram(ctx, "scontrol", "--all", "--oneliner", "show", "partitions")
	if err != nil {
		return err
	}
	closed, err := g.readClosed()
	if err != nil {
		return err
	}
	up := partitionsIn(shown, stateUp)
	if closed = append(closed, up...); len(closed) == 0 {
		closed = []string{} // JSON's null is no list
	}
	slices.Sort(closed)
	if err := g.writeClosed(slices.Compact(closed)); err != nil {
		return err
	}
	for _, name := range up {
		if err := g.setState(ctx, name, stateDown); err != nil {
			return err
		}
	}
	g.awaitLaunches(ctx)
	return nil
}

// Open sets the partitions to UP that Close has set DOWN and that are DOWN still, but for those that slurm.conf has DOWN. It
// does nothing if Close has not.
func (g Gate) Open(ctx context.Context) error {
	closed, err := g.readClosed()
	if err != nil || closed == nil {
		return err
	}
	shown, err := g.runSlurmProgram(ctx, "scontrol", "--all", "--oneliner", "show", "partitions")
	if err != nil {
		return err
	}
	conf, err := os.ReadFile(g.Conf)
	if err != nil {
		return fmt.Errorf("reading which partitions are to be DOWN: %w", err)
	}
	wantedDown := partitionsDownIn(string(conf))
	for _, name := range partitionsIn(shown, stateDown) {
		if !slices.Contains(closed, name) || slices.Contains(wantedDown, name) {
			continue
		}
		if err := g.setState(ctx, name, stateUp); err != nil {
			return err
		}
	}
	if err := os.Remove(g.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("opening partitions: %w", err)
	}
	return nil
}

// A gate that is closed for longer than forgottenAfter was closed by an agent that has ended.
const (
	forgottenAfter = time.Minute
	watchInterval  = 5 * time.Second
)

// Watch opens a gate that an agent has left closed, until the context ends.
func (g Gate) Watch(ctx context.Context) { g.openForgotten(ctx, watchInterval, forgottenAfter) }

func (g Gate) openForgotten(ctx context.Context, interval, forgotten time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		info, err := os.Stat(g.File)
		if err != nil || time.Since(info.ModTime()) < forgotten {
			continue
		}
		if err := g.Open(ctx); err == nil {
			g.Log.Warn("partitions that were DOWN for a reconfigure are UP again")
		} else if ctx.Err() == nil {
			g.Log.Error("partitions are still DOWN for a reconfigure", "err", err)
		}
	}
}

// awaitLaunches waits until slurmctld has nothing more to send to nodes and no job waits for its nodes or their prolog, which
// come before its launch.
func (g Gate) awaitLaunches(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, launchDelay)
	defer cancel()
	for {
		launching, err := g.isLaunching(ctx)
		if err == nil && !launching {
			return
		}
		select {
		case <-ctx.Done():
			g.Log.Warn("jobs have not reached their nodes before a reconfigure", "after", launchDelay, "err", err)
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (g Gate) isLaunching(ctx context.Context) (bool, error) {
	agents, err := g.runSlurmProgram(ctx, "sdiag")
	if err != nil || isSending(agents) {
		return true, err
	}
	jobs, err := g.runSlurmProgram(ctx, "squeue", "--all", "--noheader", "--states=RUNNING,CONFIGURING", "--format=%T %r")
	return hasUnlaunched(jobs), err
}

func (g Gate) setState(ctx context.Context, partition, state string) error {
	_, err := g.runSlurmProgram(ctx, "scontrol", "update", "PartitionName="+partition, "State="+state)
	return err
}

// runSlurmProgram returns what a program of Slurm prints. What it says of a failure is the error.
func (g Gate) runSlurmProgram(ctx context.Context, program string, args ...string) (string, error) {
	path := g.Scontrol
	if program != "scontrol" {
		path = strings.TrimSuffix(path, filepath.Base(path)) + program
	}
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // see Gate
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return string(out), nil
}

// readClosed returns the names in the file, nil if there is none.
func (g Gate) readClosed() ([]string, error) {
	text, err := os.ReadFile(g.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading which partitions are closed: %w", err)
	}
	out := []string{}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("reading which partitions are closed: %s: %w", g.File, err)
	}
	return out, nil
}

// writeClosed replaces the file.
func (g Gate) writeClosed(names []string) error {
	text, err := json.Marshal(names)
	if err != nil {
		return err
	}
	temp := g.File + ".new"
	if err := errors.Join(os.WriteFile(temp, text, 0o600), os.Rename(temp, g.File)); err != nil {
		return fmt.Errorf("noting which partitions are closed: %w", err)
	}
	return nil
}

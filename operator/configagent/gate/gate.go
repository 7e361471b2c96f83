package gate

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent/partition"
)

// Gate stops jobs from starting. All exported fields are required.
type Gate struct {
	// Programs are Slurm's scontrol, sdiag and squeue.
	Programs partition.Programs
	// File remembers the partitions that Close sets DOWN until they are UP again. It is in StateSaveLocation, so that
	// every agent of the cluster finds it.
	File string
	// Conf gives partitions new states in slurm.conf.
	Conf partition.ConfStates
	// Serves returns an error if another slurmctld serves; that slurmctld's agent applies the states in slurm.conf. nil means that
	// this one serves.
	Serves func(ctx context.Context) error
	Log    *slog.Logger
	// refreshInterval is how often KeepClosed refreshes File, 0 for the default.
	refreshInterval time.Duration
}

// launchDelay is how long Close waits for launches. They take a fraction of a second, but nodes that have to be powered up
// take minutes.
const launchDelay = 5 * time.Second

func (g Gate) closed() partition.Override {
	return partition.Override{Programs: g.Programs, File: g.File, Saved: filepath.Join(filepath.Dir(g.File), "part_state"),
		States: map[string]string{partition.Up: partition.Down}}
}

// Close first gives partitions their new states in slurm.conf, then sets the partitions that are UP to DOWN. It returns when the jobs
// that started before have reached their nodes, or after launchDelay. After an error, some partitions may be DOWN; Open opens them.
func (g Gate) Close(ctx context.Context) error {
	// First: a partition that slurmctld has lost is DOWN, and would not be opened again.
	failed := errors.Join(g.closed().RestoreLost(ctx), g.applyStates(ctx))
	states, err := g.Programs.States(ctx)
	if err != nil {
		return errors.Join(failed, err)
	}
	defer g.KeepClosed(ctx)()
	failed = errors.Join(failed, g.closed().Set(ctx, slices.Sorted(maps.Keys(states))))
	if _, closed := g.closed().Age(); closed {
		g.awaitLaunches(ctx)
	}
	return failed
}

// applyStates applies the new partition states in slurm.conf. Beside a standby it does nothing: the last of several agents to get a
// revision would undo the first one's states.
func (g Gate) applyStates(ctx context.Context) error {
	if g.Serves != nil && g.Serves(ctx) != nil {
		return nil
	}
	if err := g.Conf.CheckRecord(); err != nil {
		g.Log.Error("partitions may lack a state that has changed in slurm.conf: compare it with scontrol show partitions", "err", err)
	}
	return g.Conf.Apply(ctx, g.closed())
}

// KeepClosed prevents any Watch from opening the gate as a forgotten one until stop is called. A slow slurmctld, with a call of
// scontrol for each partition, takes longer than forgottenAfter to get a configuration.
func (g Gate) KeepClosed(ctx context.Context) (stop func()) {
	return g.closed().KeepFresh(ctx, cmp.Or(g.refreshInterval, forgottenAfter/6))
}

// Open sets the partitions to UP that Close set to DOWN and that are still DOWN. If Close did nothing, Open only applies new states in
// slurm.conf that Close could not apply.
func (g Gate) Open(ctx context.Context) error {
	return errors.Join(g.applyStates(ctx), g.closed().Restore(ctx))
}

// awaitLaunches waits until slurmctld has no messages for nodes, and no job waits for its nodes or their prolog. Both come before a
// job's launch.
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
	agents, err := g.Programs.Run(ctx, "sdiag")
	if err != nil || isSending(agents) {
		return true, err
	}
	jobs, err := g.Programs.Run(ctx, "squeue", "--all", "--noheader", "--states=RUNNING,CONFIGURING", "--format=%T %r")
	return hasUnlaunched(jobs), err
}

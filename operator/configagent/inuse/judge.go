package inuse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/partition"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Judge decides whether a revision may be applied. All fields but Silence and FindUnknown are required.
type Judge struct {
	// Programs ask slurmctld.
	Programs partition.Programs
	// Wanted is the folder with the file that forces a revision. Live is the folder of the running slurmctld's slurm.conf.
	Wanted, Live string
	// File remembers the partitions that are drained, and GateFile those that are closed for a reconfigure (package gate). They
	// are in StateSaveLocation.
	File, GateFile string
	// Silence tracks how long slurmctld has not answered. nil means that a slurmctld without an answer does not run.
	Silence *Silence
	// ReachesSlurmdbd reports whether the slurmdbd of slurm.conf's settings accepts connections. It returns true if they name no
	// slurmdbd.
	ReachesSlurmdbd func(context.Context, []slurmconf.Setting) bool
	// FindUnknown returns the users (database passwd) or groups (group) that slurmctld would not find. It returns the context's error
	// if the context ends before the directory answers. nil means that no directory provides users.
	FindUnknown func(ctx context.Context, database string, names []string) ([]string, error)
	Log         *slog.Logger
}

// drainFor overrides partitions for a revision, or for no particular revision if it is empty. It keeps new jobs out of partitions:
// pending jobs may still run in an UP partition, and DOWN accepts jobs as well. A partition that an administrator reopens stays open
// until slurmctld gets another configuration, which may remove and create it. The pod that replaces slurmctld's pod also writes
// slurm.conf, so such a partition may be drained once more while a revision is held.
func (j Judge) drainFor(revision string) partition.Override {
	return partition.Override{Programs: j.Programs, File: j.File, Exclusive: j.GateFile, Since: j.conf(), Holder: revision, HeldFor: withdrawnAfter,
		States: map[string]string{partition.Up: partition.Drain, partition.Down: partition.Inactive}}
}

// shutFor is drainFor for a partition that an administrator has opened again, too.
func (j Judge) shutFor(revision string) partition.Override {
	out := j.drainFor(revision)
	out.Since = ""
	return out
}

// Hold returns *configagent.HeldError if the wanted files would end jobs, or if they remove what jobs may use and slurmctld does not
// answer. It drains the partitions that the wanted files remove, and restores the state of all other partitions.
func (j Judge) Hold(ctx context.Context, inForce, wanted configagent.Files) error {
	before, after := readConf(inForce), readConf(wanted)
	if err := j.checkNodeNames(ctx, before, after); err != nil {
		return err
	}
	revision := string(wanted[slurmconf.RevisionFile].Content)
	if j.isForced(revision) {
		return nil
	}
	if err := j.checkNodeCount(ctx, before, after); err != nil {
		return err
	}
	if err := cmp.Or(j.checkGRES(ctx, inForce, wanted), j.checkSlurmdOptions(ctx, inForce, wanted),
		j.checkOverTimeLimit(ctx, inForce, wanted), j.checkReservationOverRun(ctx, inForce, wanted), j.checkEnforcement(ctx, inForce, wanted),
		j.checkDatabase(ctx, inForce, wanted), j.checkMembers(ctx)); err != nil {
		return err
	}
	states, unknown := j.states(ctx)
	if unknown == nil {
		before.partitions = slices.Collect(maps.Keys(states)) // partitions created by hand are removed as well
	}
	lost := lossOf(before, after)
	if lost.isNone() || unknown == nil {
		if err := j.checkReservations(ctx, before, after); err != nil {
			return err
		}
	}
	switch {
	case lost.isNone() && unknown == nil:
		return j.restoreAll(ctx, revision)
	case lost.isNone() && j.Silence.isShort():
		return &configagent.HeldError{Reason: v1beta1.ReasonPartitionInUse, Message: fmt.Sprintf("slurmctld runs and does not say which "+
			"partitions somebody has created, which it would forget with their jobs: %v", unknown)}
	case lost.isNone():
		return nil
	case unknown != nil:
		return lost.doubt(unknown)
	}
	// An unprivileged user may not see all jobs (PrivateData in slurm.conf(5)), and squeue's output does not show it.
	err := errors.Join(j.Programs.CheckPrivilege(ctx), j.drainFor(revision).Restore(ctx, lost.partitions...))
	if err != nil {
		return lost.doubt(err)
	}
	if err := j.askForUses(ctx, lost, j.drainFor(revision)); err != nil {
		return err
	}
	// No job uses what is lost. That stays so until slurmctld has the files.
	return j.askForUses(ctx, lost, j.shutFor(revision))
}

// restoreAll gives all partitions that were drained for a revision their state back. Watch does it later if an agent has closed
// partitions.
func (j Judge) restoreAll(ctx context.Context, revision string) error {
	err := j.drainFor(revision).Restore(ctx)
	if errors.Is(err, partition.ErrExcluded) {
		return nil
	}
	return err
}

// askForUses returns *configagent.HeldError if jobs use what is lost. It drains before it asks, so that no job starts in between.
func (j Judge) askForUses(ctx context.Context, lost loss, drains partition.Override) error {
	if err := drains.Set(ctx, lost.partitions); err != nil {
		return lost.doubt(err)
	}
	jobs, err := j.jobsFor(ctx, lost)
	if err != nil {
		return lost.doubt(err)
	}
	return lost.judge(jobs)
}

// jobsFor returns all jobs, with the attributes that the loss is compared with.
func (j Judge) jobsFor(ctx context.Context, lost loss) (jobList, error) {
	if len(lost.gresTypes) > 0 {
		return j.jobsWithGRES(ctx)
	}
	return j.jobs(ctx)
}

// errNotStarted reports that no slurmctld runs yet that could be asked.
var errNotStarted = errors.New("it has not started yet")

// states returns the states of the partitions of the running slurmctld.
func (j Judge) states(ctx context.Context) (map[string]string, error) {
	if !j.hasStarted() {
		return nil, errNotStarted
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	out, err := j.Programs.States(ctx)
	j.Silence.note(err == nil)
	return out, err
}

// ask returns a program's output about the running slurmctld.
func (j Judge) ask(ctx context.Context, program string, args ...string) (string, error) {
	if !j.hasStarted() {
		return "", errNotStarted
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return j.Programs.Run(ctx, program, args...)
}

// conf is the slurm.conf of the running slurmctld.
func (j Judge) conf() string { return filepath.Join(j.Live, "slurm.conf") }

func (j Judge) hasStarted() bool {
	_, err := os.Stat(j.conf())
	return err == nil
}

// askTimeout is how long slurmctld may take to answer. scontrol tries for longer if it is down.
const askTimeout = 30 * time.Second

// jobs returns all jobs that slurmctld remembers.
func (j Judge) jobs(ctx context.Context) (jobList, error) {
	// Each task of an array counts in MaxJobCount.
	printed, err := j.ask(ctx, "squeue", "--all", "--array", "--noheader", "--states=all", "--Format="+jobFormat)
	if err != nil {
		return jobList{}, err
	}
	return parseJobs(printed)
}

// isForced reports whether an administrator has forced a revision.
func (j Judge) isForced(revision string) bool {
	forced, err := os.ReadFile(filepath.Join(j.Wanted, slurmconf.ForcedRevisionFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		j.Log.Warn("it is unknown whether a revision is forced", "err", err)
	}
	return revision != "" && strings.TrimSpace(string(forced)) == revision
}

// A revision that is held is judged again every few seconds, and the file of drained partitions is written then. Older than
// withdrawnAfter it belongs to a revision that was withdrawn, or to an agent that has ended.
const (
	withdrawnAfter = time.Minute
	watchInterval  = 5 * time.Second
)

// KeepDrained prevents Watch, and judges of other revisions, from restoring drained partitions until stop is called, while slurmctld
// gets the files in Live.
func (j Judge) KeepDrained(ctx context.Context) (stop func()) {
	revision, _ := os.ReadFile(filepath.Join(j.Live, slurmconf.RevisionFile)) // without a revision, it stops only Watch
	return j.drainFor(string(revision)).KeepFresh(ctx, withdrawnAfter/6)
}

// Watch gives drained partitions their state back once no revision is held, until the context ends.
func (j Judge) Watch(ctx context.Context) { j.watch(ctx, watchInterval, withdrawnAfter) }

func (j Judge) watch(ctx context.Context, interval, withdrawn time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if age, drained := j.drainFor("").Age(); !drained || age < withdrawn {
			continue
		}
		if err := j.drainFor("").Restore(ctx); err == nil {
			j.Log.Info("no partition is drained for a revision any more")
		} else if ctx.Err() == nil && !errors.Is(err, partition.ErrExcluded) {
			j.Log.Error("partitions are still drained for a revision", "err", err)
		}
	}
}

package partition

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"
)

// restored are the states that Restore has set and that slurmctld may not have saved yet.
type restored struct {
	// Started is when the slurmctld that received the states started, by its own clock. Zero means unknown.
	Started time.Time `json:"started,omitzero"`
	// States are the states by partition.
	States map[string]string `json:"states"`
}

const (
	// saveDelay is longer than slurmctld waits before it saves a change. saving is the time that it takes to write a file: a file
	// written this soon after Restore may contain only some of the states.
	saveDelay = 10 * time.Second
	saving    = time.Second
)

// restoredFile is the path of the states that Restore has set. It is on the volume of Saved, so one clock sets the times of
// both files.
func (o Override) restoredFile() string { return o.File + ".restored" }

// startTime returns when slurmctld started, if Restore needs it, or zero if slurmctld does not report it.
func (o Override) startTime(ctx context.Context) time.Time {
	if o.Saved == "" {
		return time.Time{}
	}
	started, _ := o.Programs.StartTime(ctx) // Restore itself matters more
	return started
}

func (o Override) keepRestored(r restored) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return writeShared(o.restoredFile(), text)
}

// readRestored returns Restore's record and its time. Without a readable file it is empty.
func (o Override) readRestored() (out restored, at time.Time, err error) {
	info, err := os.Stat(o.restoredFile())
	if errors.Is(err, fs.ErrNotExist) {
		return out, at, nil
	} else if err != nil {
		return out, at, err
	}
	text, err := os.ReadFile(o.restoredFile())
	if err == nil && json.Unmarshal(text, &out) != nil {
		return restored{}, at, record(o.restoredFile()).remove()
	}
	return out, info.ModTime(), err
}

// addRestored adds the states that Restore has set to the record, which may have states from before a failure.
func (o Override) addRestored(started time.Time, states map[string]string) error {
	if o.Saved == "" {
		return nil
	}
	kept, _, err := o.readRestored()
	if err != nil {
		return err
	}
	all := maps.Clone(states)
	maps.Copy(all, kept.States)
	return o.keepRestored(restored{started, all})
}

// forgetRestored removes Restore's record.
func (o Override) forgetRestored() error {
	if o.Saved == "" {
		return nil
	}
	return record(o.restoredFile()).remove()
}

// adoptLost adds to set the partitions that lost their state since RestoreLost looked, because slurmctld was killed and restarted:
// Restore will restore it. A state that the slurmctld of Restore shows was set by hand, and stays.
func (o Override) adoptLost(ctx context.Context, states, set map[string]string) error {
	if o.Saved == "" {
		return nil
	}
	kept, at, err := o.readRestored()
	if err != nil || len(kept.States) == 0 {
		return err
	}
	// The states are older than this answer. If this slurmctld is the one of Restore, the states are its own too.
	started, err := o.Programs.StartTime(ctx)
	if err != nil {
		return err
	}
	if o.isOfRestore(kept, at, started) {
		return nil
	}
	maps.Copy(set, o.stillOverridden(kept.States, states))
	return nil
}

// RestoreLost restores the states once more if another slurmctld serves than at Restore, with states that were saved before Restore.
// slurmctld saves a change some seconds later, and may be killed before. It does nothing once slurmctld has saved the states, or while
// partitions are overridden again.
func (o Override) RestoreLost(ctx context.Context) error {
	if o.isOverridden() {
		return nil
	}
	end, err := takeTurn(ctx)
	if err != nil {
		return err
	}
	defer end()
	kept, at, err := o.readRestored()
	if err != nil || len(kept.States) == 0 {
		return err
	}
	started, err := o.Programs.StartTime(ctx)
	if err != nil {
		return err
	}
	if o.isSaved(kept, at, started) {
		return o.forgetRestored()
	}
	if o.isOfRestore(kept, at, started) {
		return nil
	}
	return o.restoreAgain(ctx, restored{started, kept.States})
}

// recovered returns when the serving slurmctld recovered its state, by the clock of Saved, or zero if that is unknown. slurmctld writes
// the file last_config_lite then, and at no other time (measured: docs/development/slurm.md, "A killed slurmctld").
func (o Override) recovered() time.Time {
	info, err := os.Stat(filepath.Join(filepath.Dir(o.Saved), "last_config_lite"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// isOfRestore reports whether the serving slurmctld is the one that received the kept states from Restore at a time. Two slurmctlds may
// have started in one second, the precision of started.
func (o Override) isOfRestore(kept restored, at, started time.Time) bool {
	return started.Equal(kept.Started) && !o.recovered().After(at)
}

// isSaved reports whether the slurmctld of Restore has saved all states that Restore set. started is the start of the serving
// slurmctld.
func (o Override) isSaved(kept restored, at, started time.Time) bool {
	info, err := os.Stat(o.Saved)
	if err != nil || !info.ModTime().After(at) {
		return false
	}
	if o.isOfRestore(kept, at, started) {
		return o.now().Sub(at).Abs() >= saveDelay
	}
	// The serving slurmctld lost the states itself if it saved them since its start. Its start is known to the second only; it may have
	// saved them in that second before it executed itself again.
	begun := started
	if recovered := o.recovered(); recovered.After(at) {
		begun = recovered
	}
	return info.ModTime().After(at.Add(saving)) && info.ModTime().Before(begun)
}

// restoreAgain sets the partitions that have the overriding state, and records what it set.
func (o Override) restoreAgain(ctx context.Context, kept restored) error {
	states, err := o.Programs.States(ctx)
	if err != nil {
		return err
	}
	lost := o.stillOverridden(kept.States, states)
	if len(lost) == 0 {
		return o.forgetRestored()
	}
	if _, err := o.Programs.SetStates(ctx, lost, states); err != nil {
		return err
	}
	return o.keepRestored(restored{kept.Started, lost})
}

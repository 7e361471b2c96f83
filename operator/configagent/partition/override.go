package partition

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"time"
)

// Override gives partitions another state, and later their own state back. Several agents of a cluster may share one.
// Programs, States and File are required.
type Override struct {
	Programs Programs
	// States are the other states by the partition's own one. A partition in any other state keeps it.
	States map[string]string
	// Since is a file, empty for none. A partition that was overridden after that file was written, and has such a state again, is
	// left alone: somebody has set it.
	Since string
	// Exclusive is the File of another Override, which this one must not take for an administrator. Set fails while it exists.
	Exclusive string
	// File remembers the partitions. It is in StateSaveLocation, so that every agent of the cluster finds it, and exists
	// only while partitions are overridden.
	File string
	// Saved is the file in which slurmctld saves the states of partitions, in the folder of File. If it is given, Restore keeps
	// what it has set until slurmctld has saved that, for RestoreLost.
	Saved string
}

// errExcluded reports that another Override is at work.
var errExcluded = errors.New("partitions are closed for a reconfigure")

// Set overrides those of the named partitions that have one of the States. After an error some may be overridden; Restore
// gives them their state back.
func (o Override) Set(ctx context.Context, names []string) error {
	// The states come first: a partition that another agent has overridden before is in the file that is read then.
	states, err := o.exclusiveStates(ctx)
	if err != nil {
		return err
	}
	set, err := o.remembered(states)
	if err != nil {
		return err
	}
	if set == nil {
		set = map[string]string{}
	}
	isRecent := o.isWrittenSince(o.Since)
	var changed []string
	for _, name := range names {
		_, was := set[name]
		if _, has := o.States[states[name]]; has && !(was && isRecent) {
			changed = append(changed, name)
			set[name] = states[name]
		}
	}
	if err := record(o.File).write(set); err != nil {
		return err
	}
	for _, name := range changed {
		if err := o.Programs.SetState(ctx, name, o.States[set[name]]); err != nil {
			return err
		}
	}
	return nil
}

// isWrittenSince reports whether File was written after a file that exists.
func (o Override) isWrittenSince(path string) bool {
	earlier, err := os.Stat(path)
	own, ownErr := os.Stat(o.File)
	return err == nil && ownErr == nil && !own.ModTime().Before(earlier.ModTime())
}

// exclusiveStates returns the states of all partitions, of which the other Override has set none.
func (o Override) exclusiveStates(ctx context.Context) (map[string]string, error) {
	if o.isExcluded() {
		return nil, errExcluded
	}
	states, err := o.Programs.States(ctx)
	if err == nil && o.isExcluded() {
		err = errExcluded
	}
	return states, err
}

func (o Override) isExcluded() bool {
	_, err := os.Stat(o.Exclusive)
	return o.Exclusive != "" && !errors.Is(err, os.ErrNotExist)
}

// Restore gives the overridden partitions their state back, but for those to keep. A partition whose state somebody has
// changed meanwhile keeps that. It does nothing if no partition is overridden.
func (o Override) Restore(ctx context.Context, keep ...string) error {
	if _, err := os.Stat(o.File); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	started := o.startTime(ctx)
	states, err := o.Programs.States(ctx)
	if err != nil {
		return err
	}
	set, err := o.remembered(states)
	if err != nil {
		return err
	}
	left := maps.Clone(set)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if slices.Contains(keep, name) {
			continue
		}
		if other, has := o.States[set[name]]; has && states[name] == other {
			if err := o.Programs.SetState(ctx, name, set[name]); err != nil {
				return err
			}
		}
		delete(left, name)
	}
	switch {
	case len(left) == 0 && len(set) > 0 && o.Saved != "":
		return errors.Join(o.keepRestored(restored{started, set}), record(o.File).remove())
	case len(left) == 0:
		return record(o.File).remove()
	case len(left) < len(set):
		return record(o.File).write(left)
	}
	return nil
}

// remembered returns the states that overridden partitions had, nil if none is overridden. If the file is damaged, these are
// all in the overriding state: a partition that stays closed for good is worse than one that an administrator closes again.
func (o Override) remembered(states map[string]string) (map[string]string, error) {
	set, err := record(o.File).read()
	if !errors.Is(err, errDamaged) {
		return set, err
	}
	set = map[string]string{}
	for own, other := range o.States {
		for name, state := range states {
			if state == other {
				set[name] = own
			}
		}
	}
	return set, nil
}

// Age returns how long ago the file was written, and false if no partition is overridden. A clock that was set back does not
// make it younger.
func (o Override) Age() (time.Duration, bool) {
	info, err := os.Stat(o.File)
	if err != nil {
		return 0, false
	}
	return time.Since(info.ModTime()).Abs(), true
}

package partition

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Override gives partitions another state, and later their own state back. Several agents of a cluster may share one.
// Programs, States and File are required.
type Override struct {
	Programs Programs
	// States are the other states by the partition's own one. A partition in any other state keeps it.
	States map[string]string
	// Since is a file, or empty. A partition that was overridden after that file was written, and has one of States again, is left
	// alone: its state was set by hand.
	Since string
	// Exclusive is the File of another Override, which this one must not take for an administrator. Set and Restore return
	// ErrExcluded while it exists.
	Exclusive string
	// Holder names the reason of the override, such as a revision; it may be empty. Restore does nothing while another holder also
	// overrides partitions, which called Set within HeldFor.
	Holder  string
	HeldFor time.Duration
	// File remembers the partitions. It is in StateSaveLocation, so that every agent of the cluster finds it, and exists
	// only while partitions are overridden.
	File string
	// Saved is the file where slurmctld saves the states of partitions, in the folder of File. If it is set, Restore keeps a record
	// for RestoreLost until slurmctld has saved the restored states.
	Saved string
	// volumeTime returns the time of the volume with File. nil uses the time of a new file.
	volumeTime func() (time.Time, error)
}

// ErrExcluded reports that another Override is at work.
var ErrExcluded = errors.New("partitions are closed for a reconfigure")

// Set overrides the named partitions that have one of the States. After an error, some may be overridden; Restore restores their
// state.
func (o Override) Set(ctx context.Context, names []string) error {
	end, err := takeTurn(ctx)
	if err != nil {
		return err
	}
	defer end()
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
	if err := o.adoptLost(ctx, states, set); err != nil {
		return err
	}
	isRecent := o.isWrittenSince(o.Since)
	changed := map[string]string{}
	for _, name := range names {
		_, was := set[name]
		if other, has := o.States[states[name]]; has && !(was && isRecent) {
			changed[name] = other
			set[name] = states[name]
		}
	}
	if err := errors.Join(o.noteHolder(names), record(o.File).write(set), o.forgetRestored()); err != nil {
		return err
	}
	_, err = o.Programs.SetStates(ctx, changed, states)
	return err
}

// isWrittenSince reports whether File was written after a file of this machine that exists. Their volumes may have different clocks.
func (o Override) isWrittenSince(path string) bool {
	earlier, err := os.Stat(path)
	age, overridden := o.Age()
	return err == nil && overridden && age <= time.Since(earlier.ModTime())
}

// exclusiveStates returns the states of all partitions, without the partitions that the other Override has set.
func (o Override) exclusiveStates(ctx context.Context) (map[string]string, error) {
	if o.isExcluded() {
		return nil, ErrExcluded
	}
	states, err := o.Programs.States(ctx)
	if err == nil && o.isExcluded() {
		err = ErrExcluded
	}
	return states, err
}

func (o Override) isExcluded() bool {
	_, err := os.Stat(o.Exclusive)
	return o.Exclusive != "" && !errors.Is(err, os.ErrNotExist)
}

// Restore restores the state of the overridden partitions, except the ones to keep. A partition whose state was changed meanwhile
// keeps the new state. It does nothing if no partition is overridden.
func (o Override) Restore(ctx context.Context, keep ...string) error {
	if _, err := os.Stat(o.File); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	end, err := takeTurn(ctx)
	if err != nil {
		return err
	}
	defer end()
	if o.isHeldByAnother() {
		return nil
	}
	started := o.startTime(ctx)
	states, err := o.exclusiveStates(ctx)
	if err != nil {
		return err
	}
	set, err := o.remembered(states)
	if err != nil {
		return err
	}
	if set == nil {
		return nil // another agent has
	}
	if err := o.adoptLost(ctx, states, set); err != nil { // of a Restore that has failed
		return err
	}
	left := maps.Clone(set)
	maps.DeleteFunc(left, func(name, _ string) bool { return !slices.Contains(keep, name) })
	due := o.stillOverridden(withoutPartitions(set, left), states)
	if done, err := o.Programs.SetStates(ctx, due, states); err != nil {
		return errors.Join(err, o.noteProgress(started, left, due, done))
	}
	if len(left) == 0 {
		o.forgetHolders()
	}
	switch {
	case len(left) == 0 && len(set) > 0 && o.Saved != "":
		return errors.Join(o.addRestored(started, set), record(o.File).remove())
	case len(left) == 0:
		return errors.Join(o.forgetRestored(), record(o.File).remove())
	case len(left) < len(set):
		return record(o.File).write(left)
	}
	return nil
}

// noteProgress records the partitions that a failed Restore has left, both due ones and ones to keep. A partition that is closed by
// hand after it was restored stays closed. File keeps its age, so that Watch continues at once.
func (o Override) noteProgress(started time.Time, left, due, done map[string]string) error {
	if len(done) == 0 {
		return nil
	}
	rest := withoutPartitions(due, done)
	maps.Copy(rest, left)
	info, err := os.Stat(o.File)
	if err != nil {
		return err
	}
	return errors.Join(o.addRestored(started, done), record(o.File).write(rest), os.Chtimes(o.File, info.ModTime(), info.ModTime()))
}

// stillOverridden returns the earlier states of the partitions that still have the overriding state.
func (o Override) stillOverridden(own, states map[string]string) map[string]string {
	out := maps.Clone(own)
	maps.DeleteFunc(out, func(name, state string) bool {
		other, has := o.States[state]
		return !has || states[name] != other
	})
	return out
}

// remembered returns the earlier states of the overridden partitions, or nil if none is overridden. If the file is damaged, it
// returns all partitions in the overriding state: a partition that stays closed for good is worse than one that an administrator
// closes again.
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

// isOverridden reports whether a partition is overridden.
func (o Override) isOverridden() bool {
	_, err := os.Stat(o.File)
	return err == nil
}

// Age returns how long ago the file was written, and false if no partition is overridden. It uses the time of the file's volume: a
// file server's clock may differ from this machine's. A clock that was set back does not make the file younger.
func (o Override) Age() (time.Duration, bool) {
	info, err := os.Stat(o.File)
	if err != nil {
		return 0, false
	}
	return o.now().Sub(info.ModTime()).Abs(), true
}

// now returns the time of the volume, or this machine's time if the volume is not writable.
func (o Override) now() time.Time {
	volumeTime := o.volumeTime
	if volumeTime == nil {
		volumeTime = func() (time.Time, error) { return timeOfNewFile(o.File + ".now-*") }
	}
	now, err := volumeTime()
	if err != nil {
		return time.Now()
	}
	return now
}

// timeOfNewFile returns the time that a new file has, which exists no longer afterwards. A * of its path becomes a random text.
func timeOfNewFile(pattern string) (time.Time, error) {
	file, err := os.CreateTemp(filepath.Dir(pattern), filepath.Base(pattern))
	if err != nil {
		return time.Time{}, err
	}
	info, err := file.Stat()
	if err := errors.Join(err, file.Close(), os.Remove(file.Name())); err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

package partition

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"time"
)

// Override sets partitions that are UP to another state, and gives them their state back. Several agents of a cluster may
// share one. All fields are required.
type Override struct {
	Programs Programs
	// State is the other state.
	State string
	// Once leaves a partition alone that is UP again although it was overridden: somebody has set it.
	Once bool
	// File remembers the partitions. It is in StateSaveLocation, so that every agent of the cluster finds it, and exists
	// only while partitions are overridden.
	File string
}

// Set overrides those of the named partitions that are UP. After an error some may be overridden; Restore gives them their
// state back.
func (o Override) Set(ctx context.Context, names []string) error {
	// The states come first: a partition that another agent has overridden before is in the file that is read then.
	states, err := o.Programs.States(ctx)
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
	var up []string
	for _, name := range names {
		if _, was := set[name]; states[name] == Up && !(was && o.Once) {
			up = append(up, name)
			set[name] = Up
		}
	}
	if err := record(o.File).write(set); err != nil {
		return err
	}
	for _, name := range up {
		if err := o.Programs.SetState(ctx, name, o.State); err != nil {
			return err
		}
	}
	return nil
}

// Restore gives the overridden partitions their state back, but for those to keep. A partition whose state somebody has
// changed meanwhile keeps that. It does nothing if no partition is overridden.
func (o Override) Restore(ctx context.Context, keep ...string) error {
	if _, err := os.Stat(o.File); errors.Is(err, os.ErrNotExist) {
		return nil
	}
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
		if states[name] == o.State {
			if err := o.Programs.SetState(ctx, name, set[name]); err != nil {
				return err
			}
		}
		delete(left, name)
	}
	switch {
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
	for name, state := range states {
		if state == o.State {
			set[name] = Up
		}
	}
	return set, nil
}

// Age returns how long ago the file was written, and false if no partition is overridden.
func (o Override) Age() (time.Duration, bool) {
	info, err := os.Stat(o.File)
	if err != nil {
		return 0, false
	}
	return time.Since(info.ModTime()), true
}

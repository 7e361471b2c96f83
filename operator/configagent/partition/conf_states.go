package partition

import (
	"context"
	"errors"
	"maps"

	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Settings returns the settings of slurm.conf and of the files that it includes.
func Settings(files configagent.Files) []slurmconf.Setting { return SettingsOf(files, "slurm.conf") }

// SettingsOf returns the settings of a file. The settings of an included file replace its Include line.
func SettingsOf(files configagent.Files, name string) []slurmconf.Setting {
	texts := map[string]string{}
	for name, file := range files {
		texts[name] = string(file.Content)
	}
	return slurmconf.ParseFiles(texts, texts[name])
}

// ConfStates applies the partition states of slurm.conf when they change. slurmctld itself keeps the current states
// (ReconfigFlags=KeepPartState), so a partition that an administrator closed stays closed. All fields are required.
type ConfStates struct {
	Programs Programs
	// Live is the folder of slurm.conf.
	Live string
	// File remembers the states in slurm.conf that partitions were given. It is in StateSaveLocation.
	File string
	// Overridden is the File of an Override, or empty. Apply removes partitions from it.
	Overridden string
}

// errNoConf reports that slurm.conf is missing.
var errNoConf = errors.New("there is no slurm.conf")

// Wanted returns the states in slurm.conf by partition.
func (c ConfStates) Wanted() (map[string]string, error) {
	files, err := configagent.ReadFiles(c.Live)
	if err != nil {
		return nil, err
	}
	if _, has := files["slurm.conf"]; !has {
		return nil, errNoConf
	}
	out := map[string]string{}
	for _, p := range slurmconf.PartitionsOf(Settings(files)) {
		out[p.Name] = p.State
	}
	return out, nil
}

// CheckRecord returns an error if File is damaged. Apply replaces it, and does not know which states in slurm.conf have changed
// since it was written.
func (c ConfStates) CheckRecord() error {
	if _, err := record(c.File).read(); errors.Is(err, errDamaged) {
		return err
	}
	return nil
}

// Apply sets the partitions whose state in slurm.conf differs from the last applied one. A partition that cannot be set stays
// due, and the others are set nevertheless. The overrides, and Overridden, forget a partition that Apply sets: otherwise
// Restore would take its new state for the overriding one.
func (c ConfStates) Apply(ctx context.Context, overrides ...Override) error {
	end, err := takeTurn(ctx)
	if err != nil {
		return err
	}
	defer end()
	wanted, err := c.Wanted()
	if err != nil {
		return err
	}
	applied, err := record(c.File).read()
	if err != nil && !errors.Is(err, errDamaged) {
		return err
	}
	if maps.Equal(wanted, applied) {
		return nil
	}
	next, err := c.setChanged(ctx, wanted, applied, overrides)
	if maps.Equal(next, applied) {
		return err
	}
	return errors.Join(err, record(c.File).write(next))
}

// setChanged sets the partitions whose wanted state differs from the applied one, and returns the states that are applied then.
func (c ConfStates) setChanged(ctx context.Context, wanted, applied map[string]string, overrides []Override) (map[string]string, error) {
	next := maps.Clone(wanted) // slurmctld takes the state of a new partition from slurm.conf itself
	maps.Copy(next, applied)
	if maps.Equal(next, wanted) {
		return next, nil
	}
	states, err := c.Programs.States(ctx)
	if err != nil {
		return next, err
	}
	changed := map[string]string{}
	for name := range applied {
		state, isWanted := wanted[name]
		_, exists := states[name]
		switch {
		case !isWanted && !exists:
			delete(next, name)
		case isWanted && !exists:
			next[name] = state // it is a new one
		case isWanted && state != applied[name]:
			changed[name] = state
		}
	}
	set, err := c.Programs.SetStates(ctx, changed, nil) // a change of slurm.conf is newer than an administrator's change
	for _, o := range append(overrides, Override{File: c.Overridden}) {
		if failed := o.forgetPartitions(set); failed != nil {
			return next, errors.Join(err, failed) // they are set once more
		}
	}
	maps.Copy(next, set)
	return next, err
}

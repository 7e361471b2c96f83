package partition

import (
	"errors"
	"maps"
	"os"
)

// forgetPartitions removes the named partitions from the records, so that neither Restore nor RestoreLost restores their
// state. A damaged File stays.
func (o Override) forgetPartitions(names map[string]string) error {
	if o.File == "" || len(names) == 0 {
		return nil
	}
	set, err := record(o.File).read()
	if err != nil && !errors.Is(err, errDamaged) {
		return err
	}
	left := withoutPartitions(set, names)
	switch {
	case len(left) == len(set):
	case len(left) == 0:
		o.forgetHolders()
		err = record(o.File).remove()
	default:
		err = record(o.File).write(left)
	}
	if err != nil && !errors.Is(err, errDamaged) {
		return err
	}
	return o.forgetRestoredOf(names)
}

// forgetRestoredOf removes the named partitions from Restore's record.
func (o Override) forgetRestoredOf(names map[string]string) error {
	if o.Saved == "" {
		return nil
	}
	kept, at, err := o.readRestored()
	left := withoutPartitions(kept.States, names)
	if err != nil || len(left) == len(kept.States) {
		return err
	}
	if len(left) == 0 {
		return o.forgetRestored()
	}
	if err := o.keepRestored(restored{kept.Started, left}); err != nil {
		return err
	}
	return os.Chtimes(o.restoredFile(), at, at) // the others were set then
}

// withoutPartitions returns the states of those partitions that others does not have.
func withoutPartitions(states, others map[string]string) map[string]string {
	out := maps.Clone(states)
	maps.DeleteFunc(out, func(name, _ string) bool { _, has := others[name]; return has })
	return out
}

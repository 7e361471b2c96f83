package plan

import (
	"maps"
	"slices"
)

// KeepNames has SlurmName return the names that ordinals below the partition get from the old revisions that they keep.
// A revision covers the names of its workers, so a worker that is created from an old one has its old name. Calling
// KeepNames again changes nothing.
func (w *Desired) KeepNames(observed *Observation) {
	newest, old := w.SlurmName, w.SlurmNameIn
	if old == nil {
		return
	}
	w.SlurmNameIn = nil
	kept := keptRevisions(w, observed)
	if len(kept) == 0 {
		return
	}
	w.SlurmName = func(ordinal int) string {
		if revision, keeps := kept[ordinal]; keeps {
			return old(revision, ordinal)
		}
		return newest(ordinal)
	}
}

// keptByName returns the old revisions that ordinals keep, by the Slurm node name of the ordinal, of several the lowest. Names
// that are not known before a worker is scheduled are left out.
func keptByName(desired *Desired, kept map[int]string) map[string]string {
	out := map[string]string{}
	for _, ordinal := range slices.Backward(slices.Sorted(maps.Keys(kept))) {
		if name := desired.SlurmName(ordinal); name != "" {
			out[name] = kept[ordinal]
		}
	}
	return out
}

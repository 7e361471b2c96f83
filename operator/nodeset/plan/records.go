package plan

import (
	"maps"
	"slices"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// records keeps Slurm's records of workers that are not there: as FUTURE for those
// that may come, none for others.
func (b *pass) records() {
	if !b.slurm.Fresh {
		return
	}
	wanted := b.futures()
	for _, name := range slices.Sorted(maps.Keys(b.slurm.Records)) {
		if record := b.slurm.Records[name]; !b.taken[name] && b.mine(record) {
			b.keep(record, wanted[name])
		}
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if _, there := b.slurm.Records[name]; !there && !b.taken[name] && b.slurm.Taken[name] == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		b.add(Step{Verb: Records, Names: missing, Reason: "jobs can be submitted for workers that are not there yet"})
	}
}

// futures are the names of workers that may come.
func (b *pass) futures() map[string]bool {
	out := map[string]bool{}
	if b.wish.Deleting || b.wish.PerKubeNode || b.wish.Max == nil || !b.wish.Records {
		return out
	}
	for i := range *b.wish.Max {
		out[b.wish.SlurmName(i)] = true
	}
	return out
}

// mine reports whether a record is of this NodeSet: it is dynamic, and its comment
// says so. One without a comment is, if it has a name of ours and we put it out of
// service. A FUTURE record without one may be an administrator's.
func (b *pass) mine(r Record) bool {
	if !r.Dynamic {
		return false
	}
	if r.Owner != "" {
		return r.Owner == b.wish.UID
	}
	return r.Ours && !r.Future
}

// keep brings a record without a pod to rest. Like a pod it must be seen to have no
// job and to get none before it is taken away.
func (b *pass) keep(r Record, wanted bool) {
	switch {
	case r.Future && wanted:
	case r.Future:
		b.add(Step{Verb: Forget, SlurmName: r.Name, Look: LookUnregistered, Reason: "the NodeSet will not have this worker"})
	case b.foreign(r) && !r.Drain:
		b.closeHeld(Step{SlurmName: r.Name})
	case b.foreign(r), r.Busy, b.slurm.Work[r.Name].Jobs > 0:
	case !r.Ours && !wanted && !b.wish.Deleting && !b.stale(r):
	case !r.Drain:
		b.add(Step{Verb: Drain, SlurmName: r.Name, Look: LookUndrained, Reason: v1beta1.DrainReasonPrefix + "its pod is gone"})
	case !b.slurm.drained(r.Name):
	case wanted:
		b.add(Step{Verb: Retire, SlurmName: r.Name, Look: LookDrainedByUs, Reason: "its pod is gone"})
	default:
		b.add(Step{Verb: Forget, SlurmName: r.Name, Look: LookDrainedByUs, Reason: "its pod is gone"})
	}
}

// stale reports that the NodeSet wants the record pruned, whose Kubernetes node is gone.
func (b *pass) stale(r Record) bool { return b.wish.Prune && r.KubeNodeGone }

package plan

import (
	"maps"
	"slices"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// maintainRecords maintains Slurm's records of workers without a pod: FUTURE for those that may be
// created, and none for others.
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
		b.add(Step{Verb: Records, Names: missing, Reason: "jobs can be submitted for workers that do not exist yet"})
	}
}

// futureNames returns the names of workers that may be created.
func (b *pass) futures() map[string]bool {
	out := map[string]bool{}
	if b.desired.Deleting || b.desired.PerKubeNode || b.desired.Max == nil || !b.desired.Records {
		return out
	}
	for i := range *b.desired.Max {
		out[b.desired.SlurmName(i)] = true
	}
	return out
}

// isOurs reports whether a record belongs to this NodeSet: it is dynamic, and its comment names the
// NodeSet. A record without an owner does if it carries a name of ours and we put it out of
// service. A FUTURE record without an owner may be an administrator's.
func (b *pass) mine(r Record) bool {
	if !r.Dynamic {
		return false
	}
	if r.Owner != "" {
		return r.Owner == b.desired.UID
	}
	return r.Ours && !r.Future
}

// settleRecord moves a record without a pod to its final state. As for a pod, readings must show
// that it has no job and accepts none before it is removed.
func (b *pass) keep(r Record, wanted bool) {
	switch {
	case r.Future && wanted:
	case r.Future:
		b.add(Step{Verb: Forget, SlurmName: r.Name, Look: LookUnregistered, Reason: "the NodeSet will not create this worker"})
	case b.foreign(r) && !r.Drain:
		b.closeHeld(Step{SlurmName: r.Name})
	case b.foreign(r), r.Busy, b.slurm.Work[r.Name].Jobs > 0:
	case !r.Ours && !wanted && !b.desired.Deleting && !b.stale(r):
	case !r.Drain:
		b.add(Step{Verb: Drain, SlurmName: r.Name, Look: LookUndrained, Reason: v1beta1.DrainReasonPrefix + "its pod is gone"})
	case !b.slurm.drained(r.Name):
	case wanted:
		b.add(Step{Verb: Retire, SlurmName: r.Name, Look: LookDrainedByUs, Reason: "its pod is gone"})
	default:
		b.add(Step{Verb: Forget, SlurmName: r.Name, Look: LookDrainedByUs, Reason: "its pod is gone"})
	}
}

// isPrunable reports whether the Kubernetes node of the record is gone and the NodeSet prunes such
// records.
func (b *pass) stale(r Record) bool { return b.desired.Prune && r.KubeNodeGone }

package plan

import (
	"slices"
	"time"
)

// create makes the workers that are missing, once Slurm has been read: a slurmd that joins
// under the name of another NodeSet's Slurm node would take that over with its jobs.
func (b *pass) create() {
	switch {
	case b.wish.Deleting, !b.slurm.Known:
	case b.wish.PerKubeNode:
		b.createPerKubeNode()
	default:
		b.createOrdinals()
	}
}

// createPerKubeNode makes a worker where there is no pod at all.
func (b *pass) createPerKubeNode() {
	held := map[string]bool{}
	for i := range b.seen.Workers {
		held[b.seen.Workers[i].Slot.KubeNode] = true
	}
	for _, n := range slices.Sorted(slices.Values(b.wish.KubeNodes)) {
		switch name := b.wish.SlurmNameOn(n); {
		case held[n], b.slurm.Taken[name] != "":
		case b.isUnclaimed(name):
			b.todo.Unclaimed = append(b.todo.Unclaimed, name)
		default:
			b.createAt(Slot{Ordinal: NoOrdinal, KubeNode: n}, name)
		}
	}
}

// createAt makes a worker. Where somebody else set its Slurm node DOWN or FAIL, its slurmd
// must not end that by registering.
func (b *pass) createAt(slot Slot, name string) {
	b.taken[name] = true
	if r := b.slurm.Records[name]; b.slurm.Fresh && !r.Future && b.foreign(r) && !r.Drain {
		b.closeHeld(Step{SlurmName: name})
	}
	b.add(Step{Verb: Create, Slot: slot, SlurmName: name})
}

// createOrdinals makes workers at the lowest free ordinals; those whose Slurm node
// somebody else took out of service come last. A pod that is on its way out is waited for,
// since another of its name will follow, but not for ever.
func (b *pass) createOrdinals() {
	missing := b.wish.Desired() - len(b.active) - len(b.finished) - len(b.strangers)
	for _, w := range b.going {
		if end := w.Going.Add(b.cfg.GoneWithin); b.now.Before(end) {
			missing--
			b.lookAt(end)
		}
	}
	for _, ordinal := range b.freeOrdinals(missing) {
		b.createAt(Slot{Ordinal: ordinal}, b.wish.SlurmName(ordinal))
	}
}

// freeOrdinals returns up to count ordinals that no pod has, all below the maximum
// where there is one.
func (b *pass) freeOrdinals(count int) []int {
	if count <= 0 {
		return nil
	}
	held := map[int]bool{}
	for i := range b.seen.Workers {
		held[b.seen.Workers[i].Slot.Ordinal] = true
	}
	end := b.wish.Desired() + len(b.seen.Workers)
	if b.wish.Max != nil {
		end = max(*b.wish.Max, b.wish.Desired())
	}
	var good, drained []int
	for i := 0; i < end && len(good) < count; i++ {
		switch name := b.wish.SlurmName(i); {
		case held[i], b.slurm.Taken[name] != "":
		case b.isUnclaimed(name):
			b.todo.Unclaimed = append(b.todo.Unclaimed, name)
		case b.slurm.Records[name].Foreign():
			drained = append(drained, i)
		default:
			good = append(good, i)
		}
	}
	free := slices.Concat(good, drained)
	return free[:min(count, len(free))]
}

// finish says whether nothing is left of a NodeSet that is being deleted. Where there
// is no Slurm cluster any more its records are not waited for; with Force not for long, and
// not at all where Slurm was never read. A reading that is late does not end the wait, nor
// does one that began before the deletion: records may have been made since.
func (b *pass) finish() {
	if !b.wish.Deleting || len(b.seen.Workers) > 0 {
		return
	}
	left := !b.slurm.Fresh || b.recordsLeft() || b.readBeforeDeletion()
	if b.wish.Policy.Force {
		end := b.wish.DeletingSince.Add(b.cfg.RecordsWithin)
		b.lookAt(end)
		left = b.slurm.Known && left && b.now.Before(end)
	}
	b.todo.Finished = !b.slurm.Connected || !left
}

// readBeforeDeletion reports whether the nodes were read before the NodeSet was deleted, or
// right then: what was made until then may be missing. Where the API server's clock is
// ahead of ours that is not known.
func (b *pass) readBeforeDeletion() bool {
	at, since := b.slurm.NodesReadAt, b.wish.DeletingSince
	return !at.IsZero() && !since.IsZero() && !b.now.Before(since) && at.Before(since.Add(aroundDeletion))
}

// aroundDeletion is for how long after its deletion a NodeSet's records may still be made by
// a pass that did not know of it.
const aroundDeletion = 3 * time.Second

// recordsLeft reports whether there are records of ours that can be deleted.
func (b *pass) recordsLeft() bool {
	for _, r := range b.slurm.Records {
		if b.mine(r) && !r.Foreign() {
			return true
		}
	}
	return false
}

package plan

import (
	"maps"
	"slices"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// neighbour owns the Slurm nodes of a NodeSet of the same name in another namespace.
const neighbour = "other"

// taken reports that a Slurm node belongs to the other NodeSet.
func (w *world) taken(name string) bool {
	n := w.slurm[name]
	return n != nil && n.Owner == neighbour
}

// neighbourEvent is the other NodeSet of the same name: its operator takes a free name, or
// does to one of its Slurm nodes what ours might.
func (w *world) neighbourEvent() {
	name := w.desired.SlurmName(w.r.IntN(5))
	n := w.slurm[name]
	switch {
	case n == nil && w.pods[name] == nil:
		n = &simRecord{Record: Record{Name: name, Dynamic: true, Owner: neighbour, OwnerName: "b/n"}, jobs: map[uint32]bool{}}
		n.Future = w.chance(30)
		n.up = !n.Future
		n.unnamed = n.up && w.chance(50)
		w.slurm[name] = n
		w.say("a NodeSet of the same name takes %s", name)
	case n != nil && n.unnamed:
		n.unnamed = false
	case n == nil || n.Owner != neighbour || n.Foreign():
	case n.Future:
		n.Future, n.up = false, true
	case n.Drain && n.Ours:
		n.Drain, n.Ours, n.reason = false, false, ""
	case w.chance(30):
		n.Drain, n.Ours, n.reason = true, true, v1beta1.DrainReasonPrefix+"scale-in"
	case n.up && !n.Drain && !n.Down:
		w.startJob(n, nil)
	}
}

// neighbourLeaves takes the other NodeSet away with its Slurm nodes.
func (w *world) neighbourLeaves() {
	for _, name := range slices.Sorted(maps.Keys(w.slurm)) {
		if w.taken(name) {
			delete(w.slurm, name)
			delete(w.held, name)
		}
	}
}

// shownTaken reports that the operator was shown whose a Slurm node is, or that a slurmd answers for
// it and nobody has written whose it is.
func (w *world) shownTaken(name string) bool {
	r, shown := w.op.nodes[name]
	return r.Owner == neighbour || shown && w.taken(name) && !r.Future && !r.Down && r.Owner == ""
}

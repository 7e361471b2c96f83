package simulation

import (
	"maps"
	"slices"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// otherNodeSetUID owns the Slurm nodes of a NodeSet of the same name in another namespace.
const otherNodeSetUID = "other"

// isOwnedByOther reports that a Slurm node belongs to the other NodeSet.
func (w *simulation) isOwnedByOther(name string) bool {
	n := w.slurm[name]
	return n != nil && n.OwnerUID == otherNodeSetUID
}

// neighbourEvent plays the other NodeSet of the same name: its operator takes a free name, or writes to one of its Slurm
// nodes as ours might.
func (w *simulation) neighbourEvent() {
	name := w.desired.SlurmName(w.rand.IntN(5))
	n := w.slurm[name]
	switch {
	case n == nil && w.pods[name] == nil:
		n = &simRecord{Record: plan.Record{Name: name, Dynamic: true, OwnerUID: otherNodeSetUID, OwnerName: "b/n"},
			jobs: map[uint32]bool{}}
		n.Future = w.chance(30)
		n.up = !n.Future
		n.ownerMissing = n.up && w.chance(50)
		n.static = w.chance(30)
		n.foreign = !n.static && !n.ownerMissing && w.chance(30)
		w.slurm[name] = n
		w.logf("a NodeSet of the same name takes %s", name)
		if n.foreign {
			w.logf("a comment of others is on %s", name)
		}
	case n != nil && n.ownerMissing:
		n.ownerMissing = false
	case n == nil || n.OwnerUID != otherNodeSetUID || n.Foreign():
	case n.Future:
		n.Future, n.up = false, true
	case n.Drain && n.OurReason:
		n.Drain, n.OurReason, n.reason = false, false, ""
	case w.chance(30):
		n.Drain, n.OurReason, n.reason = true, true, v1beta1.DrainReasonPrefix+"scale-in"
	case n.up && !n.Drain && !n.Down:
		w.startJob(n, nil)
	}
}

// neighbourLeaves takes the other NodeSet away with its Slurm nodes.
func (w *simulation) neighbourLeaves() {
	for _, name := range slices.Sorted(maps.Keys(w.slurm)) {
		if w.isOwnedByOther(name) {
			delete(w.slurm, name)
			delete(w.setByAdmin, name)
		}
	}
}

// isKnownOwnedByOther reports that the operator has seen the owner of a Slurm node, or that a slurmd answers for the node
// and no owner is written.
func (w *simulation) isKnownOwnedByOther(name string) bool {
	r, shown := w.operator.nodes[name]
	return r.OwnerUID == otherNodeSetUID || shown && (!r.Dynamic || r.ForeignComment) || shown && w.isOwnedByOther(name) && !r.Future && !r.Down && r.OwnerUID == ""
}

// isReadAsOthers reports that the last reading names another owner of a Slurm node. A foreign comment names no owner: a
// worker with that name can be chosen.
func (w *simulation) isReadAsOthers(name string) bool {
	r, shown := w.operator.nodes[name]
	return shown && (!r.Dynamic || r.OwnerUID == otherNodeSetUID)
}

package plan

import (
	"cmp"
	"slices"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// An update of a worker that cannot come back would only remove it. So a worker is updated only if there is a name for its
// successor: that of its Kubernetes node or ordinal, or in scaling mode StatefulSet that of another ordinal, which no
// other successor and no missing worker needs.

// spareNames are the names of ordinals that no worker has.
type spareNames struct {
	// count is how many workers may be updated whose own names do not suffice. Missing workers come first.
	count int
	// released are the names of ordinals that become free with the worker that has the name.
	released map[string]bool
	// owner owns one of the names that no worker gets, empty if nobody owns any.
	owner string
}

// findSuccessor reports whether a worker could take the place of an outdated one. If not, it returns who owns the name
// of that worker; empty if the NodeSet does, so that the name may become free.
func (b *planRun) findSuccessor(w *Worker) (exists bool, owner string) {
	if b.desired.PerKubeNode {
		if kubeNode := cmp.Or(w.Slot.KubeNode, w.KubeNode); kubeNode != "" {
			owner = b.nameOwner(b.desired.SlurmNameOn(kubeNode))
		}
		return owner == "" && (b.hasOtherMode(w) || b.canTakeName(w.Slot.KubeNode)), owner
	}
	isOrdinal := !b.hasOtherMode(w) && w.Slot.Ordinal < b.successorsEnd()
	name := w.SlurmName
	if isOrdinal {
		name = b.desired.SlurmName(w.Slot.Ordinal)
		if owner = b.nameOwner(name); owner == "" && (name == w.SlurmName || b.isUnused(name)) {
			return true, ""
		}
	}
	spare := b.findSpareNames()
	switch {
	case spare.released[w.SlurmName]:
		delete(spare.released, w.SlurmName)
		return true, ""
	case spare.count > 0:
		spare.count--
		return true, ""
	case !isOrdinal:
		owner = spare.owner
	}
	return false, owner
}

// nameOwner returns who else owns a Slurm node name, or may own it, empty for nobody.
func (b *planRun) nameOwner(name string) string {
	if owner := cmp.Or(b.rules.ReservedFor(b.desired, name), b.slurm.OwnedByOthers[name]); owner != "" {
		return owner
	}
	if !b.usedSlurmNames[name] && b.isOwnerUnknown(name) {
		return "a Slurm node without an owner"
	}
	return ""
}

// isUnused reports whether neither a pod nor a slurmd without a pod has a name.
func (b *planRun) isUnused(name string) bool {
	_, taken := slices.BinarySearch(b.actions.Taken, name)
	return !taken && !b.usedSlurmNames[name]
}

// successorsEnd returns the first ordinal that no successor gets, whatever names cannot be used: when all outdated workers are gone,
// there are only the others.
func (b *planRun) successorsEnd() int {
	others := len(b.active) + len(b.ownedByOthers) - b.actions.Leaving - b.actions.Outdated
	return b.desired.OrdinalsEnd(others, b.desired.WorkerCount())
}

// findSpareNames determines the names that successors may get. Pods that are being deleted or have ended, and displaced ones,
// need them as well.
func (b *planRun) findSpareNames() *spareNames {
	if b.spare != nil { // the same for all workers
		return b.spare
	}
	staying := slices.Concat(b.active, b.ownedByOthers)
	b.spare = &spareNames{count: len(staying) - b.actions.Leaving - b.desired.WorkerCount(), released: map[string]bool{}}
	held, used, seen := map[int]bool{}, map[string]bool{}, map[string]bool{}
	for _, w := range staying {
		held[w.Slot.Ordinal], used[w.SlurmName] = true, w.SlurmName != ""
	}
	for i := range b.successorsEnd() {
		name := b.desired.SlurmName(i)
		owner := b.nameOwner(name)
		b.spare.owner = cmp.Or(b.spare.owner, owner)
		if held[i] || owner != "" || seen[name] {
			continue
		}
		seen[name] = name != ""
		if _, taken := slices.BinarySearch(b.actions.Taken, name); used[name] {
			b.spare.released[name] = true
		} else if !taken {
			b.spare.count++
		}
	}
	return b.spare
}

// sortForSuccessors puts first the workers that were chosen for an update before, and then those whose removal loses least.
func (b *planRun) sortForSuccessors(outdated []*Worker) {
	chosen := func(w *Worker) int {
		if w.DrainMark.Cause == v1beta1.DrainCauseUpdate {
			return 0
		}
		return 1
	}
	slices.SortFunc(outdated, func(x, y *Worker) int {
		return cmp.Or(cmp.Compare(chosen(x), chosen(y)), b.slurm.compare(x, y))
	})
}

package plan

import (
	"cmp"
	"slices"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// An update of a worker that cannot come back would only remove it. So a worker is updated only if its successor has a name: the name
// of its Kubernetes node or ordinal, or in scaling mode StatefulSet the name of another ordinal that no other successor and no missing
// worker needs.

// spareNames are the names of ordinals that no worker has.
type spareNames struct {
	// count is the number of workers that may be updated although their own names are not enough. Missing workers come first.
	count int
	// released are the names of ordinals that become free when their worker is removed.
	released map[string]bool
	// problem is the reason why no worker gets one of the names; empty if others have none of them.
	problem string
}

// findSuccessor reports whether a worker could replace an outdated one. If not, it returns why that worker can have no name; empty if
// the name may become free.
func (b *planRun) findSuccessor(w *Worker) (exists bool, problem string) {
	if b.desired.PerKubeNode {
		return b.findSuccessorOnKubeNode(w)
	}
	isOrdinal := !b.hasOtherMode(w) && w.Slot.Ordinal < b.successorsEnd()
	name := w.SlurmName
	if isOrdinal {
		name = b.desired.SlurmName(w.Slot.Ordinal)
		if problem = b.nameProblem(name); problem == "" && (name == w.SlurmName || b.isUnused(name)) {
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
	case isOrdinal && b.awaitsItself(w):
		return true, ""
	case !isOrdinal:
		problem = spare.problem
	case problem == "" && name != w.SlurmName && b.isKept(name):
		problem = b.keptBy(name)
	}
	return false, problem
}

// findSuccessorOnKubeNode does so in scaling mode DaemonSet: the worker would come to the Kubernetes node of the outdated one.
func (b *planRun) findSuccessorOnKubeNode(w *Worker) (exists bool, problem string) {
	names := b.findNewNames()
	kubeNode := cmp.Or(w.Slot.KubeNode, w.KubeNode)
	name, wanted := names.byKubeNode[kubeNode]
	if !wanted { // no worker is wanted
		return true, ""
	}
	if name == "" {
		return false, "the Slurm node name of Kubernetes node " + kubeNode + " is invalid"
	}
	if problem = b.nameProblem(name); problem != "" {
		return false, problem
	}
	switch owner := names.owners[name]; {
	case b.isTakenName(name):
		return false, ""
	case b.hasOtherMode(w): // a change of the mode also removes the workers of Kubernetes nodes without a name of their own
		return true, ""
	case owner != kubeNode:
		return false, "Kubernetes node " + owner + " has the name of the worker that would take its place"
	case name == w.SlurmName:
		return true, ""
	}
	switch b.futureOf(name, w) {
	case nameStays:
		return false, b.keptBy(name)
	case nameWaitsForItself:
		return true, ""
	}
	return !b.usedSlurmNames[name], ""
}

// nameFuture is the future of a name that an outdated worker's successor needs, in scaling mode DaemonSet.
type nameFuture int

const (
	// nameBecomesFree: its worker leaves it, if it has one.
	nameBecomesFree nameFuture = iota
	// nameStays: its worker, or one for whose name that waits, cannot leave it.
	nameStays
	// nameWaitsForItself: its worker waits for the name of the outdated worker, directly or through others. One of them must leave its
	// name first.
	nameWaitsForItself
)

// futureOf returns the future of the name that the successor of a worker needs.
func (b *planRun) futureOf(name string, w *Worker) nameFuture {
	for range b.active {
		holder := b.holders[name]
		switch {
		case holder == nil, b.causes[holder.Pod] != "":
			return nameBecomesFree
		case holder == w:
			return nameWaitsForItself
		case !b.isOutdated(holder):
			return nameStays
		}
		kubeNode := cmp.Or(holder.Slot.KubeNode, holder.KubeNode)
		next, wanted := b.findNewNames().byKubeNode[kubeNode]
		switch {
		case !wanted:
			return nameBecomesFree
		case next == "", b.nameOwner(next) != "":
			return nameStays
		case b.hasOtherMode(holder):
			return nameBecomesFree
		case b.findNewNames().owners[next] != kubeNode:
			return nameStays
		}
		name = next
	}
	return nameBecomesFree // others wait for each other, and one of them leaves first
}

// isKept reports whether a worker has a name and should keep it.
func (b *planRun) isKept(name string) bool {
	holder := b.holders[name]
	return holder != nil && b.causes[holder.Pod] == "" && !b.isOutdated(holder)
}

// keptBy names the worker that keeps a name.
func (b *planRun) keptBy(name string) string {
	return "worker " + b.holders[name].Pod + " keeps the name " + name
}

// maxNameLength is how many characters the name of a worker may have in Kubernetes.
const maxNameLength = 63

// nameProblem returns why no worker can have a name, or an empty string: the name is too long, or others have it.
func (b *planRun) nameProblem(name string) string {
	if len(name) > maxNameLength {
		return "the worker that would take its place would have a name of more than 63 characters"
	}
	owner := b.nameOwner(name)
	if owner == "" {
		return ""
	}
	return owner + " has the name of the worker that would take its place"
}

// nameOwner returns the other owner, or possible owner, of a Slurm node name; empty if it is free.
func (b *planRun) nameOwner(name string) string {
	if owner := cmp.Or(b.rules.ReservedFor(b.desired, name), b.slurm.OwnedByOthers[name]); owner != "" {
		return owner
	}
	if !b.usedSlurmNames[name] && b.isOwnerUnknown(name) {
		return "a Slurm node without an owner"
	}
	return ""
}

// isUnused reports whether no pod and no slurmd without a pod has a name.
func (b *planRun) isUnused(name string) bool { return !b.isTakenName(name) && !b.usedSlurmNames[name] }

// isTakenName reports whether a slurmd without a pod may have a name.
func (b *planRun) isTakenName(name string) bool {
	_, taken := slices.BinarySearch(b.actions.Taken, name)
	return taken
}

// successorsEnd returns the first ordinal that no successor gets, for any unusable names: when all outdated workers are gone, only the
// others have names.
func (b *planRun) successorsEnd() int {
	others := len(b.active) + len(b.ownedByOthers) - b.actions.Leaving - b.actions.Outdated
	return b.desired.OrdinalsEnd(others, b.desired.WorkerCount())
}

// findSpareNames determines the names that successors may get. Pods that are being deleted, have ended or are displaced need names
// too.
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
		problem := b.nameProblem(name)
		b.spare.problem = cmp.Or(b.spare.problem, problem)
		if held[i] || problem != "" || seen[name] {
			continue
		}
		seen[name] = name != ""
		switch {
		case used[name]:
			b.spare.released[name] = true
		case !b.isTakenName(name) && !b.awaitsJobs(name) && !b.keepsRefusedShape(name):
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

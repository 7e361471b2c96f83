package plan

import "slices"

// With hostNetwork, workers have names of Kubernetes nodes, which may equal names of other ordinals. Once it is switched off, two
// successors may each need the name of the other's worker. One worker goes first: its ordinal has no worker until the others have left
// their names.

// nameOfSuccessor returns the name that the successor of a worker gets once the current owner leaves it. It is empty if the successor
// gets no name, or the same.
func (b *planRun) nameOfSuccessor(w *Worker) string {
	if b.hasOtherMode(w) || w.Slot.Ordinal >= b.successorsEnd() {
		return ""
	}
	name := b.desired.SlurmName(w.Slot.Ordinal)
	if name == w.SlurmName || b.isTakenName(name) || b.nameProblem(name) != "" {
		return ""
	}
	return name
}

// outdatedHolder returns the worker that has a name and will leave it by an update that has not begun, or nil.
func (b *planRun) outdatedHolder(name string) *Worker {
	holder := b.holders[name]
	if holder == nil || b.causes[holder.Pod] != "" || !b.isOutdated(holder) {
		return nil
	}
	return holder
}

// awaitsItself reports whether the successor of a worker needs a name whose worker waits, directly or through others, for the name of
// the worker itself.
func (b *planRun) awaitsItself(w *Worker) bool {
	for holder, left := w, len(b.active); left > 0; left-- {
		if holder = b.outdatedHolder(b.nameOfSuccessor(holder)); holder == nil {
			return false
		}
		if holder == w {
			return true
		}
	}
	return false // others wait for each other
}

// findBlocker returns the worker whose update brings a missing worker nearer to its name: it has the name, or it has a name that the
// current owner waits for. It returns nil if no worker blocks the name, or if the missing worker may have another name.
func (b *planRun) findBlocker() *Worker {
	if b.desired.PerKubeNode || len(b.observed.Workers) >= b.desired.WorkerCount() {
		return nil
	}
	var out *Worker
	held := map[int]bool{}
	for i := range b.observed.Workers {
		held[b.observed.Workers[i].Slot.Ordinal] = true
	}
	for i := range b.ordinalsEnd() {
		name := b.desired.SlurmName(i)
		switch {
		case held[i]:
		case b.isUnused(name) && b.nameOwner(name) == "":
			return nil
		case out == nil:
			out = b.firstToLeave(name)
		}
	}
	return out
}

// firstToLeave returns the worker that can be updated now, among the one with a name and the ones whose names it waits for; or nil.
func (b *planRun) firstToLeave(name string) *Worker {
	holder := b.outdatedHolder(name)
	for range b.active {
		if holder == nil {
			return nil
		}
		if name = b.nameOfSuccessor(holder); name != "" && b.isUnused(name) {
			return holder
		}
		holder = b.outdatedHolder(name)
	}
	return nil
}

// allowOneMore returns, as a list, the worker in service that is updated although the budget is spent. Otherwise two workers could wait
// for each other's update. The first of the available workers has the best name to give away.
func (b *planRun) allowOneMore(available []*Worker) []*Worker {
	if len(available) > 0 && available[0].BlocksKubeNode && slices.ContainsFunc(b.active, b.awaitsKubeNode) {
		return available[:1]
	}
	if blocker := b.findBlocker(); blocker != nil && slices.Contains(available, blocker) {
		return []*Worker{blocker}
	}
	return nil
}

// awaitsKubeNode reports whether a worker of the newest revision is not scheduled. It may wait for a name.
func (b *planRun) awaitsKubeNode(w *Worker) bool {
	return w.KubeNode == "" && w.Revision == b.desired.Revision
}

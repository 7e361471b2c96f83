package plan

import (
	"cmp"
	"slices"
)

// Namesake is a Kubernetes node that gets no worker, because another has its Slurm node name.
type Namesake struct{ KubeNode, Owner, SlurmName string }

// nameOwners returns, in scaling mode DaemonSet, the Kubernetes node that owns each Slurm node name. It is the node of the worker that
// has the name, else the node that last had it, else the oldest node without a pod (the first of KubeNodes). So names like gpu1.rack-a
// and gpu1.rack-b never share a Slurm node.
func (b *planRun) nameOwners() map[string]string {
	out := map[string]string{}
	workers := sortedByName(b.observed.Workers)
	slices.SortStableFunc(workers, func(x, y *Worker) int { return x.Created.Compare(y.Created) })
	for _, w := range workers {
		if w.SlurmName != "" && out[w.SlurmName] == "" {
			out[w.SlurmName] = cmp.Or(w.Slot.KubeNode, w.KubeNode) // it may be of scaling mode StatefulSet
		}
	}
	for _, n := range b.desired.KubeNodes {
		if name := b.desired.SlurmNameOn(n); out[name] == "" && b.slurm.Records[name].KubeNode == n {
			out[name] = n
		}
	}
	held := b.heldKubeNodes()
	for _, mayBeHeld := range []bool{false, true} { // one with a worker, of another name, can keep that
		for _, n := range b.desired.KubeNodes {
			if name := b.desired.SlurmNameOn(n); out[name] == "" && (mayBeHeld || !held[n]) {
				out[name] = n
			}
		}
	}
	return out
}

// findNamesakes determines the Kubernetes nodes whose Slurm node name belongs to another one.
func (b *planRun) findNamesakes() {
	if !b.desired.PerKubeNode {
		return
	}
	owners, held := b.nameOwners(), b.heldKubeNodes()
	for _, n := range b.desired.KubeNodes {
		switch name := b.desired.SlurmNameOn(n); {
		case name == "" && !held[n]:
			b.actions.InvalidNames = append(b.actions.InvalidNames, n)
		case name != "" && owners[name] != n:
			b.actions.Namesakes = append(b.actions.Namesakes, Namesake{KubeNode: n, Owner: owners[name], SlurmName: name})
		}
	}
}

// newNames are the names that the next workers get in scaling mode DaemonSet.
type newNames struct {
	// byKubeNode has a name for each Kubernetes node that should have a worker; empty if the name is invalid.
	byKubeNode map[string]string
	// owners maps each name to the Kubernetes node whose next worker gets it. In order of preference: the node of the worker that has
	// the name, the node that last had it, a node without a worker, the first node with the name.
	owners map[string]string
}

// findNewNames determines the names of the next workers.
func (b *planRun) findNewNames() *newNames {
	if b.newNames != nil {
		return b.newNames
	}
	b.newNames = &newNames{map[string]string{}, map[string]string{}}
	ranks, current := map[string]int{}, map[string]string{}
	for _, w := range b.active {
		current[cmp.Or(w.Slot.KubeNode, w.KubeNode)] = w.SlurmName
	}
	for _, n := range b.desired.KubeNodes {
		name, rank := b.desired.SlurmNameOn(n), 1
		b.newNames.byKubeNode[n] = name
		switch has, hasWorker := current[n]; {
		case hasWorker && has == name:
			rank = 4
		case b.slurm.Records[name].KubeNode == n:
			rank = 3
		case !hasWorker:
			rank = 2
		}
		if rank > ranks[name] {
			b.newNames.owners[name], ranks[name] = n, rank
		}
	}
	return b.newNames
}

// canTakeName reports whether, in scaling mode DaemonSet, a worker on a Kubernetes node could have the node's current name once no
// other worker has it.
func (b *planRun) canTakeName(kubeNode string) bool {
	name := b.desired.SlurmNameOn(kubeNode)
	return name != "" && !b.isTakenName(name) && b.findNewNames().owners[name] == kubeNode
}

// countNameless counts the wanted workers that can have no name, because others own their names.
func (b *planRun) countNameless() int {
	count := 0
	if b.desired.PerKubeNode {
		held := b.heldKubeNodes()
		for _, n := range b.desired.KubeNodes {
			if !held[n] && b.ownsName(n) && b.nameOwner(b.desired.SlurmNameOn(n)) != "" {
				count++
			}
		}
		return count
	}
	held := map[int]bool{}
	for i := range b.observed.Workers {
		held[b.observed.Workers[i].Slot.Ordinal] = true
	}
	end := b.ordinalsEnd()
	for i := range end {
		if !held[i] && b.nameOwner(b.desired.SlurmName(i)) != "" {
			count++
		}
	}
	return max(0, b.desired.WorkerCount()-(end-count))
}

// countUncovered counts the Kubernetes nodes that have no worker and get none because of their Slurm node name.
func (b *planRun) countUncovered() int {
	count, held := len(b.actions.InvalidNames), b.heldKubeNodes()
	for _, n := range b.actions.Namesakes {
		if !held[n.KubeNode] {
			count++
		}
	}
	return count
}

// ownsName reports whether no other Kubernetes node owns this node's Slurm node name.
func (b *planRun) ownsName(kubeNode string) bool {
	return !slices.ContainsFunc(b.actions.Namesakes, func(n Namesake) bool { return n.KubeNode == kubeNode })
}

// oldestByName returns, for each Slurm node, its oldest worker that has not ended and is not being deleted.
func oldestByName(workers []*Worker) map[string]*Worker {
	out := map[string]*Worker{}
	for _, w := range workers {
		if w.SlurmName == "" || !w.DeletedAt.IsZero() || w.Finished {
			continue
		}
		if have := out[w.SlurmName]; have == nil || cmp.Or(w.Created.Compare(have.Created), cmp.Compare(w.Pod, have.Pod)) < 0 {
			out[w.SlurmName] = w
		}
	}
	return out
}

// sharesName reports whether an older worker has the same Slurm node. Every change of the node affects the older one, so this worker is
// left alone.
func sharesName(oldest map[string]*Worker, w *Worker) bool {
	return w.SlurmName != "" && oldest[w.SlurmName] != w
}

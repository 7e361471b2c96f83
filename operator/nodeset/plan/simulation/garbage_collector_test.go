package simulation

import (
	"maps"
	"slices"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// deleteNodeSet deletes the NodeSet in one of the ways that Kubernetes knows. The operator
// has looked once before, at least.
func (w *simulation) deleteNodeSet() {
	w.reconcile(false)
	if w.desired.Deleting { // it may be asked for once more, by other means
		w.logf("in the foreground the NodeSet is deleted, which it was already")
		w.foreground = true
		return
	}
	switch w.rand.IntN(3) {
	case 0:
		w.logf("the NodeSet is deleted")
		w.desired.Deleting = true
	case 1:
		w.logf("in the foreground the NodeSet is deleted")
		w.desired.Deleting, w.foreground = true, true
		w.collectGarbage()
	case 2:
		w.orphanWorkers()
	}
}

// collectGarbage plays the garbage collector after a deletion in the foreground: it deletes objects without
// another owner, and removes the NodeSet from the owners of the rest.
func (w *simulation) collectGarbage() {
	if !w.foreground {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		p := w.pods[name]
		switch {
		case !p.deletedAt.IsZero() || p.missingOwners.NodeSet:
			continue
		case p.stripped:
			w.failf("the garbage collector takes the NodeSet off %s again", p.name)
		case p.missingOwners.Namespace && len(p.work) > 0:
			w.failf("the garbage collector deleted pod %s with %d jobs on it", p.name, len(p.work))
		case p.missingOwners.Namespace:
			p.deletedAt = w.now
		default:
			p.missingOwners.NodeSet, p.stripped = true, true
		}
		p.version++
	}
}

// adoptPod ties a pod to its namespace, and to the NodeSet unless that is being deleted.
func (w *simulation) adoptPod(s plan.Step) bool {
	return w.changePod(s, func(p *simPod) {
		was := p.missingOwners
		p.missingOwners = plan.MissingOwners{NodeSet: was.NodeSet && w.desired.Deleting && !w.faults.adoptWhileDeleting}
		if p.missingOwners == was {
			w.failf("the owners of %s are written, and nothing changes", p.name)
		}
	})
}

// beginDeleted begins with a NodeSet in deletion, with jobs on its workers, when the operator takes over from
// an earlier version.
func (w *simulation) beginDeleted() {
	w.logf("the NodeSet is deleted under an earlier version")
	w.desired.Deleting = true
	for range 4 {
		for _, name := range slices.Sorted(maps.Keys(w.pods)) {
			w.advancePod(w.pods[name])
		}
	}
	w.schedule()
}

// orphanWorkers deletes the NodeSet and leaves its workers. Another NodeSet with its name is created, at once
// or while jobs run.
func (w *simulation) orphanWorkers() {
	w.logf("orphans are left by the NodeSet")
	desired := w.desired
	desired.Deleting, desired.Orphaning = true, true
	for _, p := range w.pods {
		p.missingOwners.NodeSet = true
		p.version++
	}
	if actions := w.operator.planner.Plan(w.now, desired, w.observe()); !actions.DeletionDone ||
		len(actions.Steps) > 0 {
		w.failf("a NodeSet that is to leave its workers behind takes the steps %+v", actions.Steps)
	}
	w.restart()
}

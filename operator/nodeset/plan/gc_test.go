package plan

import (
	"maps"
	"slices"
)

// deleteNodeSet deletes the NodeSet in one of the ways that Kubernetes knows. The operator
// has looked once before, at least.
func (w *world) deleteNodeSet() {
	w.reconcile(false)
	if w.desired.Deleting { // it may be asked for once more, by other means
		w.say("in the foreground the NodeSet is deleted, which it was already")
		w.foreground = true
		return
	}
	switch w.r.IntN(3) {
	case 0:
		w.say("the NodeSet is deleted")
		w.desired.Deleting = true
	case 1:
		w.say("in the foreground the NodeSet is deleted")
		w.desired.Deleting, w.foreground = true, true
		w.collect()
	case 2:
		w.orphan()
	}
}

// collect is the garbage collector after a deletion in the foreground: it deletes what no
// other owner holds, and takes the NodeSet off the rest.
func (w *world) collect() {
	if !w.foreground {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		p := w.pods[name]
		switch {
		case !p.going.IsZero() || p.bond.Orphaned:
			continue
		case p.stripped:
			w.fail("the garbage collector takes the NodeSet off %s again", p.name)
		case p.bond.Loose && len(p.work) > 0:
			w.fail("the garbage collector deleted pod %s with %d jobs on it", p.name, len(p.work))
		case p.bond.Loose:
			p.going = w.now
		default:
			p.bond.Orphaned, p.stripped = true, true
		}
		p.version++
	}
}

// adopt ties a pod to its namespace, and to the NodeSet unless that is being deleted.
func (w *world) adopt(s Step) bool {
	return w.onPod(s, func(p *simPod) {
		was := p.bond
		p.bond = Bond{Orphaned: was.Orphaned && w.desired.Deleting && !w.faults.takesBack}
		if p.bond == was {
			w.fail("the owners of %s are written, and nothing changes", p.name)
		}
	})
}

// beginDeleted has the NodeSet in deletion, with jobs on its workers, when the operator
// takes over from an earlier version.
func (w *world) beginDeleted() {
	w.say("the NodeSet is deleted under an earlier version")
	w.desired.Deleting = true
	for range 4 {
		for _, name := range slices.Sorted(maps.Keys(w.pods)) {
			w.advance(w.pods[name])
		}
	}
	w.schedule()
}

// orphan deletes the NodeSet and leaves its workers; another of its name comes, at once
// or while jobs go on.
func (w *world) orphan() {
	w.say("orphans are left by the NodeSet")
	desired := w.desired
	desired.Deleting, desired.Orphaning = true, true
	for _, p := range w.pods {
		p.bond.Orphaned = true
		p.version++
	}
	if actions := w.op.planner.Plan(w.now, desired, w.observed()); !actions.Finished || len(actions.Steps) > 0 {
		w.fail("a NodeSet that is to leave its workers behind takes the steps %+v", actions.Steps)
	}
	w.restart()
}

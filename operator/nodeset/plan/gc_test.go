package plan

// deleteNodeSet deletes the NodeSet in one of the ways that Kubernetes knows. The operator
// has looked once before, at least.
func (w *world) deleteNodeSet() {
	if w.wish.Deleting {
		return
	}
	w.reconcile(false)
	switch w.r.IntN(3) {
	case 0:
		w.say("the NodeSet is deleted")
		w.wish.Deleting = true
	case 1:
		w.say("in the foreground the NodeSet is deleted")
		w.wish.Deleting = true
		w.collect()
	case 2:
		w.orphan()
	}
}

// collect is the garbage collector after a deletion in the foreground: it deletes what no
// other owner holds, and takes the NodeSet off the rest.
func (w *world) collect() {
	for _, p := range w.pods {
		switch {
		case !p.going.IsZero():
		case p.bond.Loose && len(p.work) > 0:
			w.fail("the garbage collector deleted pod %s with %d jobs on it", p.name, len(p.work))
		case p.bond.Loose:
			p.going = w.now
		default:
			p.bond.Orphaned = true
		}
		p.version++
	}
}

// orphan deletes the NodeSet and leaves its workers; another of its name comes, at once
// or while jobs go on.
func (w *world) orphan() {
	w.say("orphans are left by the NodeSet")
	wish := w.wish
	wish.Deleting, wish.Orphaning = true, true
	for _, p := range w.pods {
		p.bond.Orphaned = true
		p.version++
	}
	if todo := w.op.planner.Plan(w.now, wish, w.seen()); !todo.Finished || len(todo.Steps) > 0 {
		w.fail("a NodeSet that is to leave its workers behind takes the steps %+v", todo.Steps)
	}
	w.restart()
}

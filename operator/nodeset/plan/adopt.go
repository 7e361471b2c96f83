package plan

// Bond is what a worker's owner references lack; the zero value lacks nothing.
type Bond struct {
	// Orphaned: the NodeSet is not its controller.
	Orphaned bool
	// Loose: its namespace is no owner, so that the garbage collector deletes the pod with
	// the NodeSet.
	Loose bool
}

// adopt ties the workers that are not: those that a NodeSet of the same name left behind,
// and those that an earlier version made. A NodeSet that is being deleted takes none, but
// anchors those that it has.
func (b *pass) adopt() {
	for _, w := range sortedByName(b.seen.Workers) {
		missing := w.Bond.Loose || w.Bond.Orphaned && !b.wish.Deleting
		if missing && w.Going.IsZero() && b.mayAdopt(w) {
			b.add(Step{Verb: Adopt, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Reason: "it is kept from the garbage collector"})
		}
	}
}

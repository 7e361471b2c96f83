package plan

// MissingOwners are the owner references that a worker lacks.
type MissingOwners struct {
	// NodeSet: the NodeSet is not its controller.
	NodeSet bool
	// Namespace: its namespace is not an owner, so that the garbage collector deletes the pod
	// together with the NodeSet.
	Namespace bool
}

// adoptPods adds missing owners: to workers left behind by an earlier NodeSet of the name, and to workers of
// earlier operator versions. A NodeSet that is being deleted adopts no orphans, but adds the namespace as
// owner of its workers.
func (b *planRun) adoptPods() {
	for _, w := range sortedByName(b.observed.Workers) {
		missing := w.MissingOwners.Namespace || w.MissingOwners.NodeSet && !b.desired.Deleting
		if missing && w.DeletedAt.IsZero() && b.rules.MayAdopt(w) {
			b.addStep(Step{Verb: AdoptPod, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName,
				Reason: "its owners protect it from the garbage collector"})
		}
	}
}

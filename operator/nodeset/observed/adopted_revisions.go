package observed

import (
	"slices"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// Workers made by another operator carry that operator's revisions, which are unknown here. When this
// operator takes over such a NodeSet, it has no revision of its own. The workers then count as workers of the
// newest revision, so that a change of the operator replaces none. The object of that revision records this.
// The next change of the spec makes these workers outdated like all others: they are drained first.

// AdoptedRevisions maps revisions of another operator's workers to the revision that they count as. newest is
// the hash of the newest revision. theirs is the newest revision that the other operator reported: workers
// with another one stay outdated. If no worker has it, all of them count as newest.
func AdoptedRevisions(revisions []plan.Revision, workers []plan.Worker, newest, theirs string) map[string]string {
	out, taken := map[string]string{}, false
	for _, r := range revisions {
		if r.Foreign {
			continue
		}
		taken = true
		for _, hash := range r.Adopts {
			out[hash] = r.Hash
		}
	}
	if taken {
		return out
	}
	isNewest := func(w plan.Worker) bool { return w.Revision == theirs }
	if !slices.ContainsFunc(workers, isNewest) {
		isNewest = func(plan.Worker) bool { return true }
	}
	for _, w := range workers {
		if w.Revision != newest && isNewest(w) {
			out[w.Revision] = newest
		}
	}
	return out
}

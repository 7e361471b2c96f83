package observed

import (
	"slices"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// Workers that another operator has made carry revisions of its own, which say nothing to this one. When
// it takes the NodeSet over, which then has no revision of ours, they count as of the newest revision, so
// that none is replaced only because the operator is another. The object of that revision says so from
// then on. The next change of the spec makes these workers outdated like all others: they are drained first.

// AdoptedRevisions returns the revisions of workers of another operator that count as another one, with
// that one. newest is the hash of the newest revision, and theirs that of the one which the other operator
// reported as its newest: workers that it has not brought to that stay outdated. Where no worker has it,
// all of them count.
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

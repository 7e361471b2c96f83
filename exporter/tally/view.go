package tally

import (
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// View is the input of families: a snapshot, and sums over it that several families share.
type View struct {
	*slurmclient.Snapshot
	Limits Limits
	// NodeTotals and JobTotals are nil until they have been read.
	NodeTotals *NodeTotals
	JobTotals  *JobTotals
	Demand     demand.Demand
}

// HasChanged reports whether the value of a resource has changed between two snapshots.
func HasChanged(old, now *slurmclient.Snapshot, r slurmclient.Resource) bool {
	if old == nil {
		return true
	}
	a, b := PollOf(old, r), PollOf(now, r)
	return a.Known != b.Known || a.Sequence != b.Sequence
}

// PollOf returns the state of the polls of a resource, or the zero Poll if the snapshot has none.
func PollOf(s *slurmclient.Snapshot, r slurmclient.Resource) slurmclient.Poll {
	for _, p := range s.Polls() {
		if p.Resource == r {
			return p
		}
	}
	return slurmclient.Poll{}
}

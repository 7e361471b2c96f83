package exporter

import (
	"cmp"
	"slices"
)

// Limits bound the number of series for labels that can have many values. 0 means no limit.
type Limits struct {
	// Nodes is how many nodes, in the order of their names, have series.
	Nodes int
	// Users and Accounts are how many users and accounts have their own series, those with
	// the most jobs first. The others are summed as RestLabelValue.
	Users, Accounts int
}

// RestLabelValue is the value of the label user or account for all beyond the limit, and of
// the label partition for jobs of unknown partitions.
const RestLabelValue = "_rest"

// limitTallies returns the tallies to show: all of them, or the largest and the sum of the rest.
func limitTallies(all map[string]*jobTally, limit int) map[string]*jobTally {
	if limit <= 0 || len(all) <= limit {
		return all
	}
	names := sortedKeys(all)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(all[b].total, all[a].total) })
	out := make(map[string]*jobTally, limit+1)
	for _, n := range names[:limit] {
		out[n] = all[n]
	}
	rest := &jobTally{}
	for _, n := range names[limit:] {
		rest.merge(all[n])
	}
	out[RestLabelValue] = rest
	return out
}

// merge adds o to t.
func (t *jobTally) merge(o *jobTally) {
	t.total += o.total
	t.held += o.held
	t.waitingForNodeLimit += o.waitingForNodeLimit
	for i := range t.byState {
		t.byState[i] += o.byState[i]
	}
	for i := range t.byFlag {
		t.byFlag[i] += o.byFlag[i]
	}
	t.pending.merge(o.pending)
	t.running.merge(o.running)
	t.suspended.merge(o.suspended)
	t.maxNodes, t.maxNodesUnheld = max(t.maxNodes, o.maxNodes), max(t.maxNodesUnheld, o.maxNodesUnheld)
	t.minNodes, t.minNodesUnheld = minNonZero(t.minNodes, o.minNodes), minNonZero(t.minNodesUnheld, o.minNodesUnheld)
}

func (a *amounts) merge(o amounts) {
	a.cpus += o.cpus
	a.gpus += o.gpus
	a.memoryMiB += o.memoryMiB
	a.nodes += o.nodes
}

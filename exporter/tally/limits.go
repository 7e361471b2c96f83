package tally

import (
	"cmp"
	"maps"
	"slices"
)

// Limits bound the number of series for labels that can have many values. 0 means no limit.
type Limits struct {
	// Nodes is how many nodes, in the order of their names, have series.
	Nodes int
	// Users and Accounts are how many users and accounts have their own series. The ones with the most jobs come first,
	// and the rest is summed as RestLabelValue.
	Users, Accounts int
}

// RestLabelValue is the value of the label user or account for all beyond the limit, and of
// the label partition for jobs of unknown partitions.
const RestLabelValue = "_rest"

// LimitJobs returns the tallies to show: all of them, or the largest and the sum of the rest.
func LimitJobs(all map[string]*Jobs, limit int) map[string]*Jobs {
	if limit <= 0 || len(all) <= limit {
		return all
	}
	names := slices.Sorted(maps.Keys(all))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(all[b].Total, all[a].Total) })
	out := make(map[string]*Jobs, limit+1)
	for _, n := range names[:limit] {
		out[n] = all[n]
	}
	rest := &Jobs{}
	for _, n := range names[limit:] {
		rest.merge(all[n])
	}
	out[RestLabelValue] = rest
	return out
}

// merge adds o to t.
func (t *Jobs) merge(o *Jobs) {
	t.Total += o.Total
	t.Held += o.Held
	t.WaitingForNodeLimit += o.WaitingForNodeLimit
	for i := range t.byState {
		t.byState[i] += o.byState[i]
	}
	for i := range t.ByFlag {
		t.ByFlag[i] += o.ByFlag[i]
	}
	t.Pending.merge(o.Pending)
	t.Running.merge(o.Running)
	t.Suspended.merge(o.Suspended)
	t.MaxNodes, t.MaxNodesUnheld = max(t.MaxNodes, o.MaxNodes), max(t.MaxNodesUnheld, o.MaxNodesUnheld)
	t.MinNodes, t.MinNodesUnheld = minNonZero(t.MinNodes, o.MinNodes), minNonZero(t.MinNodesUnheld, o.MinNodesUnheld)
}

func (a *Amounts) merge(o Amounts) {
	a.CPUs += o.CPUs
	a.GPUs += o.GPUs
	a.HasUnknownGPUs = a.HasUnknownGPUs || o.HasUnknownGPUs
	a.MemoryMiB += o.MemoryMiB
	a.Nodes += o.Nodes
}

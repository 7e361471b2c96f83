package demand

import (
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
)

// countDeviations counts in the pools the jobs whose demand is only an estimate, and keeps the existing workers that jobs beyond the
// budget could need.
func (p *planner) countDeviations() {
	next := 0 // requests and groups of ClassCapacity have the same order
	for rest := p.groups; len(rest) > 0; {
		list := rest[0].Partition
		var counts model.DeviationCounts
		keeps := false
		for ; len(rest) > 0 && rest[0].Partition == list; rest = rest[1:] {
			g := rest[0]
			p.addDeviations(&counts, g)
			if g.Class == pending.ClassCapacity {
				r := &p.requests[next]
				next++
				keeps = keeps || r.Deviations&model.ExceedsBudget != 0 && r.target >= 0 && r.jobs > 0
			}
		}
		for _, at := range p.poolsOf(list) {
			p.Pools[at].Result.AddUnmodelled(&counts)
			p.Pools[at].KeepsAllFree = p.Pools[at].KeepsAllFree || keeps
		}
	}
}

// addDeviations counts the jobs of the group whose estimate is incomplete.
func (p *planner) addDeviations(to *model.DeviationCounts, g *model.JobGroup) {
	to.Add(g.Deviations, g.Jobs)
	to.Add(model.IsLimited, g.Unmodelled)
	to.Add(model.OverlapsReservation, g.OverlapsReservation)
	if p.enforcementUnknown {
		to.Add(model.MayBeUnenforced, g.Limited)
	}
}

// poolsOf returns the indexes of the pools that serve any partition of a list such as "a,b", sorted.
func (p *planner) poolsOf(list string) (pools []int) {
	for _, part := range p.PartitionsOf(list) {
		for _, from := range p.Partitions[part].Sources {
			if from.Pool != model.NoPool {
				pools = append(pools, from.Pool)
			}
		}
	}
	slices.Sort(pools)
	return slices.Compact(pools)
}

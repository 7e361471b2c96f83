package demand

import (
	"cmp"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
)

// chunkRun is a number of equal chunks of one request on one node.
type chunkRun struct {
	request *request
	chunks  uint64
}

// bin is a number of new nodes that have the same chunks.
type bin struct {
	// partition is the partition that requests the nodes. pool is the index of their pool, or
	// NoPool. shape is -1 when unknown.
	partition, pool, shape int
	runs                   []chunkRun
	count                  uint64
	// room is the free part of each node.
	room model.Amounts
	// runIndex and runOffset are how far the chunks of the first node have been moved to free
	// nodes.
	runIndex  int
	runOffset uint64
	// triedFor are the free nodes that were last compared with the bin.
	triedFor *freeNodes
}

// maxOpenBins bounds how many kinds of nodes with room are tried for one request, so that the cost
// of a queue of different jobs is linear in its length.
const maxOpenBins = 64

// packRequests counts the nodes that the requests need beyond the free ones.
func (p *planner) packRequests() {
	p.SetNewLeft()
	free := p.groupFreeNodes()
	p.provideNamedNodes(free)
	sortFreeNodes(free)
	bins := p.packNewNodes()
	p.fillFreeNodes(bins, free)
	if p.work.isCanceled() {
		return
	}
	for i := range bins {
		p.addPendingNodes(bins[i].partition, bins[i].pool, bins[i].count)
	}
	for i := range free {
		p.countClaimed(&free[i])
	}
	p.countDeviations()
	p.simulateQueues()
	for at := range p.Pools {
		p.Pools[at].SetRequired()
	}
}

// addPendingNodes counts new nodes in the partition and in their pool.
func (p *planner) addPendingNodes(part, pool int, nodes uint64) {
	pt := &p.Partitions[part]
	pt.PendingNodes = saturating.Add(pt.PendingNodes, nodes)
	if pool == model.NoPool {
		pt.PendingOutsidePools = saturating.Add(pt.PendingOutsidePools, nodes)
	} else {
		d := &p.Pools[pool].Result
		d.Pending = saturating.Add(d.Pending, nodes)
	}
}

// countClaimed counts the free nodes that jobs are about to take.
func (p *planner) countClaimed(s *freeNodes) {
	switch s.freeState {
	case model.FreeIdle:
		p.Pools[p.Shapes[s.shape].Pool].ClaimedIdle += s.taken
	case model.FreeBooting:
		p.Pools[p.Shapes[s.shape].Pool].ClaimedBooting += s.taken
	}
}

// packNewNodes packs all requests on new nodes as if no node were free, in slurmctld's order of starts. Each request
// goes where there is room, else on nodes of its assigned shape. Free nodes do not affect this step. They only replace
// new nodes later, and so never add one.
//
// Jobs for which every pool has reached its Max come last, in the first pool that could run them.
func (p *planner) packNewNodes() []bin {
	b := newPacker(p)
	var capped []*request
	for _, r := range p.requestsByPriority() {
		if p.work.isCanceled() {
			return nil
		}
		if p.work.isSpent() {
			b.becomeCoarse()
			r.Deviations |= model.ExceedsBudget
		}
		if rest := b.assignPools(r); rest > 0 {
			over := *r
			over.jobs = rest
			capped = append(capped, &over)
		}
	}
	for _, r := range capped {
		b.packRequest(r)
	}
	return b.bins
}

// requestsByPriority returns the requests for nodes in the order in which slurmctld starts jobs. An earlier job takes
// the room first, even if a larger job comes later.
func (p *planner) requestsByPriority() []*request {
	type place struct {
		priority uint64
		id       uint32
		index    int
	}
	var order []place
	for i := range p.requests {
		if r := &p.requests[i]; r.target >= 0 && r.jobs > 0 {
			order = append(order, place{r.Priority, r.LowestID, i})
		}
	}
	// The requests are sorted by key, which decides among equals.
	slices.SortFunc(order, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.id, b.id), cmp.Compare(a.index, b.index))
	})
	out := make([]*request, len(order))
	for k := range order {
		out[k] = &p.requests[order[k].index]
	}
	return out
}

package demand

import (
	"cmp"
	"slices"
)

// chunkRun is a number of equal chunks of one request on one node.
type run struct {
	r     *request
	parts uint64
}

// bin is a number of new nodes that have the same chunks.
type bundle struct {
	// partition is the partition that requests the nodes. pool is the index of their pool, or
	// noPool. shape is -1 when unknown.
	part, pool, shape int
	runs              []run
	left              uint64
	// room is what is left on each node.
	room amounts
	// runIndex and runOffset are how far the chunks of the first node have been moved to free
	// nodes.
	at  int
	off uint64
}

// maxOpenBins bounds how many kinds of nodes with room are tried for one request, so that the cost
// of a queue of different jobs is linear in its length.
const maxOpen = 64

// packRequests counts the nodes that the requests need beyond the free ones.
func (p *plan) pack() {
	p.allot()
	free := p.supplies()
	p.settleRequired(free)
	order(free)
	bins := p.bundle()
	p.takeOff(bins, free)
	for i := range bins {
		p.ask(bins[i].part, bins[i].pool, bins[i].left)
	}
	for i := range free {
		p.claim(&free[i])
	}
	p.rehearse()
	for at := range p.pools {
		p.pools[at].require()
	}
}

// addPendingNodes counts new nodes in the partition and in their pool.
func (p *plan) ask(part, pool int, nodes uint64) {
	pt := &p.parts[part]
	pt.PendingNodes = plus(pt.PendingNodes, nodes)
	if pool == noPool {
		pt.beyond = plus(pt.beyond, nodes)
	} else {
		d := &p.pools[pool].result
		d.Pending = plus(d.Pending, nodes)
	}
}

// countClaimed counts the free nodes that jobs are about to take.
func (p *plan) claim(s *supply) {
	switch s.claim {
	case claimIdle:
		p.pools[p.shapes[s.shape].pool].claimedIdle += s.taken
	case claimBooting:
		p.pools[p.shapes[s.shape].pool].claimedBooting += s.taken
	}
}

// packNewNodes packs all requests on new nodes as if no node were free, in the order in which
// slurmctld starts them. Each goes where there is room, else on nodes of its assigned shape. Free
// nodes do not affect this step. They only replace new nodes later, and so never add one.
//
// Jobs for which every pool has reached its Max come last, in the first pool that could run them.
func (p *plan) bundle() []bundle {
	b := bundler{open: make([][]int, len(p.shapes)), plan: p}
	var capped []*request
	for _, r := range p.byPriority() {
		if rest := b.deal(r); rest > 0 {
			over := *r
			over.jobs = rest
			capped = append(capped, &over)
		}
	}
	for _, r := range capped {
		b.put(r)
	}
	return b.bundles
}

// requestsByPriority returns the requests for nodes in the order in which slurmctld starts jobs.
// What starts first takes the room that others leave, even if a larger job comes later.
func (p *plan) byPriority() []*request {
	var out []*request
	for i := range p.requests {
		if p.requests[i].target >= 0 && p.requests[i].jobs > 0 {
			out = append(out, &p.requests[i])
		}
	}
	// The requests are sorted by key; a stable sort keeps that order among equals.
	slices.SortStableFunc(out, func(a, b *request) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.example, b.example))
	})
	return out
}

// saturatingAdd returns a+b, or the largest uint64 on overflow.
func plus(a, b uint64) uint64 {
	if a+b < a {
		return ^uint64(0)
	}
	return a + b
}

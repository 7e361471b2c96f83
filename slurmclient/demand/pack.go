package demand

import (
	"cmp"
	"slices"
)

// run is a number of like parts of jobs that one node takes.
type run struct {
	r     *request
	parts uint64
}

// bundle is a number of new nodes that have the same parts of jobs on them.
type bundle struct {
	// part is the partition that asks for them, pool the place of the pool that they
	// are of or noPool, shape -1 when it is not known.
	part, pool, shape int
	runs              []run
	left              uint64
	// room is what each has left for others.
	room amounts
	// at and off are how far the runs of the first one have been taken off already.
	at  int
	off uint64
}

// maxOpen bounds how many kinds of nodes with room are looked at for one request,
// so that a queue of jobs without two alike costs no more than its length.
const maxOpen = 64

// pack counts the nodes that the requests need beyond what is free.
func (p *plan) pack() {
	p.allot()
	free := p.supplies()
	p.settleRequired(free)
	order(free)
	bundles := p.bundle()
	p.takeOff(bundles, free)
	for i := range bundles {
		p.ask(bundles[i].part, bundles[i].pool, bundles[i].left)
	}
	for i := range free {
		p.claim(&free[i])
	}
	p.rehearse()
	for at := range p.pools {
		p.pools[at].require()
	}
}

// ask counts new nodes in the partition and in the pool that they would be of.
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

// claim counts the free nodes that jobs are about to take.
func (p *plan) claim(s *supply) {
	switch s.claim {
	case claimIdle:
		p.pools[p.shapes[s.shape].pool].claimedIdle += s.taken
	case claimBooting:
		p.pools[p.shapes[s.shape].pool].claimedBooting += s.taken
	}
}

// bundle packs all requests on new nodes as if none were free, in the order in which
// slurmctld starts them, each where there is room, else on nodes of the shape found for it. What is free
// has no say here: it only takes nodes off later, and so never adds one.
//
// Jobs that find every pool at its Max come last, in the first that could run them.
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

// byPriority orders the requests that ask for nodes as slurmctld starts jobs: what it
// starts first takes the room that others leave, also where a larger job comes later.
func (p *plan) byPriority() []*request {
	var out []*request
	for i := range p.requests {
		if p.requests[i].target >= 0 && p.requests[i].jobs > 0 {
			out = append(out, &p.requests[i])
		}
	}
	// The requests come sorted by key, and that order holds among equals.
	slices.SortStableFunc(out, func(a, b *request) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.example, b.example))
	})
	return out
}

// plus is a+b, or the largest number when that is too much.
func plus(a, b uint64) uint64 {
	if a+b < a {
		return ^uint64(0)
	}
	return a + b
}

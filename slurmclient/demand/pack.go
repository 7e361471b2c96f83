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
	// part is the partition that asks for them, shape -1 when it is not known.
	part, shape int
	runs        []run
	left        uint64
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
	free := p.supplies()
	p.settleRequired(free)
	bundles := p.bundle()
	p.takeOff(bundles, free)
	for i := range bundles {
		pt := &p.parts[bundles[i].part]
		pt.PendingNodes = plus(pt.PendingNodes, bundles[i].left)
	}
}

// bundle packs all requests on new nodes as if none were free, the largest first,
// each where there is room, else on nodes of the shape found for it. What is free
// has no say here: it only takes nodes off later, and so never adds one.
func (p *plan) bundle() []bundle {
	b := bundler{open: make([][]int, len(p.shapes)), plan: p}
	for _, r := range p.bySize() {
		spread := r.spread - min(r.spread, uint64(len(r.required)))
		left := times(r.jobs, spread)
		if r.shape >= 0 && !r.whole && !r.alike {
			left = b.fill(r, left)
		}
		b.openNew(r, left)
	}
	return b.bundles
}

// bySize orders the requests that ask for nodes: those that leave least room first.
func (p *plan) bySize() []*request {
	var out []*request
	for i := range p.requests {
		if p.requests[i].target >= 0 {
			out = append(out, &p.requests[i])
		}
	}
	// The requests come sorted by key, and that order holds among equals.
	slices.SortStableFunc(out, func(a, b *request) int {
		return cmp.Or(
			cmp.Compare(a.perEmpty, b.perEmpty),
			cmp.Compare(b.each[amountCPUs], a.each[amountCPUs]),
			cmp.Compare(b.each[amountMemory], a.each[amountMemory]),
			cmp.Compare(b.spread, a.spread),
		)
	})
	return out
}

// bundler packs on new nodes.
type bundler struct {
	*plan
	bundles []bundle
	// open are the bundles with room, by shape.
	open [][]int
}

// fill puts parts of the request's jobs where there is room, no two parts of one
// job on one node, and returns how many are left.
func (b *bundler) fill(r *request, left uint64) uint64 {
	for _, shape := range b.parts[r.target].shapes {
		if !b.meets(r, shape) {
			continue
		}
		for _, i := range slices.Clone(b.open[shape]) {
			if left == 0 {
				return 0
			}
			left -= b.fillBundle(i, r, left)
		}
		b.open[shape] = slices.DeleteFunc(b.open[shape], func(i int) bool {
			return b.bundles[i].room[amountCPUs] == 0
		})
	}
	return left
}

// fillBundle puts up to left parts on the nodes of a bundle. Those that get as
// many as fit, the one that gets the rest and those that get none become bundles
// of their own.
func (b *bundler) fillBundle(i int, r *request, left uint64) (put uint64) {
	have := &b.bundles[i]
	per := min(have.room.fits(r.each), r.jobs)
	if per == 0 {
		return 0
	}
	put = min(left, times(per, have.left))
	full, rest := put/per, put%per
	if full == have.left {
		have.add(r, per)
		return put
	}
	part := *have
	have.left -= full
	if rest > 0 {
		have.left--
		b.split(part, 1, r, rest)
	}
	if full > 0 {
		b.split(part, full, r, per)
	}
	if b.bundles[i].left == 0 {
		b.bundles[i].room = make(amounts, len(part.room))
	}
	return put
}

// split adds a copy of the bundle that has something more on it.
func (b *bundler) split(from bundle, count uint64, r *request, parts uint64) {
	from.runs, from.room, from.left = slices.Clone(from.runs), slices.Clone(from.room), count
	from.add(r, parts)
	b.push(from)
}

func (b *bundle) add(r *request, parts uint64) {
	b.runs = append(b.runs, run{r, parts})
	b.room.take(r.each, parts)
}

func (b *bundler) push(n bundle) {
	b.bundles = append(b.bundles, n)
	if n.shape < 0 || n.room[amountCPUs] == 0 {
		return
	}
	b.open[n.shape] = append(b.open[n.shape], len(b.bundles)-1)
	b.open[n.shape] = b.open[n.shape][max(0, len(b.open[n.shape])-maxOpen):]
}

// openNew puts what is left on new nodes.
func (b *bundler) openNew(r *request, left uint64) {
	per := min(r.perEmpty, r.jobs)
	if left == 0 || per == 0 {
		return
	}
	for _, n := range [...]struct{ nodes, parts uint64 }{{left / per, per}, {min(1, left%per), left % per}} {
		if n.nodes == 0 {
			continue
		}
		fresh := bundle{part: r.target, shape: r.shape, left: n.nodes, runs: []run{{r, n.parts}}}
		if r.shape >= 0 {
			fresh.room = slices.Clone(b.shapes[r.shape].room)
			if r.whole || r.alike {
				clear(fresh.room)
			} else {
				fresh.room.take(r.each, n.parts)
			}
		}
		b.push(fresh)
	}
}

// plus is a+b, or the largest number when that is too much.
func plus(a, b uint64) uint64 {
	if a+b < a {
		return ^uint64(0)
	}
	return a + b
}

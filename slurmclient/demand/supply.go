package demand

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// supply is a number of nodes that have the same room.
type supply struct {
	shape int
	free  amounts
	// whole is whether they have no work at all.
	whole bool
	// name is the node's where jobs name it, to require or to exclude it.
	name  string
	count uint64
	// claim is what each counts as in its pool once a job takes it, and taken how many
	// of them jobs do.
	claim claim
	taken uint64
}

// supplies groups the nodes that have room.
func (p *plan) supplies() []supply {
	named := p.mentioned()
	index := map[string]int{}
	var out []supply
	scratch := make(amounts, amountGRES+len(p.names))
	var buf []byte
	for _, m := range p.nodes {
		if !m.room {
			continue
		}
		s := supply{shape: m.shape, whole: m.use != useBusy && m.node.AllocCPUs == 0 && m.node.AllocMemoryMiB == 0}
		if s.whole {
			s.claim = m.claim
		}
		if named[m.node.Name] {
			s.name = m.node.Name
		}
		p.freeOf(scratch, p.shapes[m.shape].room, m.node)
		if scratch[amountCPUs] == 0 {
			continue
		}
		buf = s.appendKey(buf[:0], scratch)
		i, ok := index[string(buf)]
		if !ok {
			i = len(out)
			index[string(buf)] = i
			s.free = slices.Clone(scratch)
			out = append(out, s)
		}
		out[i].count++
	}
	return out
}

// order puts nodes that jobs have or are to have before those that nobody has, and
// idle ones before those that boot.
func order(free []supply) {
	slices.SortFunc(free, func(a, b supply) int {
		return cmp.Or(
			cmp.Compare(wholeness(a.whole), wholeness(b.whole)), cmp.Compare(a.claim, b.claim),
			cmp.Compare(a.shape, b.shape), slices.Compare(a.free, b.free), strings.Compare(a.name, b.name),
		)
	})
}

func wholeness(whole bool) int {
	if whole {
		return 1
	}
	return 0
}

// appendKey appends what tells one kind of supply from another.
func (s *supply) appendKey(buf []byte, free amounts) []byte {
	buf = append(buf, byte(wholeness(s.whole)), byte(s.claim))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(s.shape))
	for _, v := range free {
		buf = binary.LittleEndian.AppendUint64(buf, v)
	}
	return append(buf, s.name...)
}

// mentioned is the set of nodes that some request names.
func (p *plan) mentioned() map[string]bool {
	out := map[string]bool{}
	for i := range p.requests {
		for _, name := range p.requests[i].required {
			out[name] = true
		}
		for name := range p.requests[i].excluded {
			out[name] = true
		}
	}
	return out
}

// settleRequired sees to the nodes that jobs name. One that is there asks for
// nothing, and what the jobs take of it is not free for others; one that is not, or
// is down, is one node to be had, however many jobs name it.
func (p *plan) settleRequired(free []supply) {
	missing := map[string]bool{}
	for i := range p.requests {
		r := &p.requests[i]
		if r.target < 0 {
			continue
		}
		for _, name := range r.required {
			m, there := p.node(name)
			if !there || !m.use.usable() {
				if !missing[name] {
					missing[name] = true
					p.ask(r.target, p.poolOfMissing(r, m, there), 1)
				}
				continue
			}
			for k := range free {
				if free[k].name == name {
					free[k].occupy(r)
				}
			}
		}
	}
}

// poolOfMissing is the pool that a node which is not there, or not usable, would
// be of: that of its record if this is in the partition, else the one that the jobs
// ask in.
func (p *plan) poolOfMissing(r *request, m member, there bool) int {
	if there && slices.Contains(p.shapes[m.shape].parts, r.target) {
		return p.shapes[m.shape].pool
	}
	return r.pool
}

// occupy takes what the request's jobs can use of the one node.
func (s *supply) occupy(r *request) {
	s.taken = 1
	if r.alone() {
		clear(s.free)
	} else {
		s.free.take(r.each, min(s.free.fits(r.each), r.jobs))
	}
	s.whole = false
}

// takeOff puts the free nodes in the place of new ones. Each takes its parts from
// the bundles in their order and without gaps, as far as its room goes; that makes
// a free node more never cost a new one.
func (p *plan) takeOff(bundles []bundle, free []supply) {
	queues := p.queues(bundles)
	own := p.ownQueues(bundles)
	bin := uint64(0)
	for i := range free {
		s := &free[i]
		var candidates []*bundle
		room := make(amounts, len(s.free))
		for range s.count {
			for len(candidates) > 0 && candidates[0].left == 0 {
				candidates = candidates[1:]
			}
			if len(candidates) == 0 {
				if candidates = p.candidates(queues, own, s); len(candidates) == 0 {
					break
				}
			}
			bin++
			copy(room, s.free)
			took := uint64(0)
			for _, b := range candidates {
				moved, gone := b.fillFree(room, bin)
				took += moved
				if !gone {
					break
				}
			}
			s.taken = min(s.taken+min(took, 1), s.count)
		}
	}
}

// queues lists the bundles by the partitions whose free nodes may be put in their place.
func (p *plan) queues(bundles []bundle) [][]*bundle {
	out := make([][]*bundle, len(p.parts))
	for i := range bundles {
		b := &bundles[i]
		if b.left == 0 {
			continue
		}
		first := b.runs[0].r
		for k, at := range first.parts {
			if at == b.part || (first.spread == 1 && first.faults[k] == faultNone) {
				out[at] = append(out[at], b)
			}
		}
	}
	return out
}

// ownQueues lists the bundles by their pools.
func (p *plan) ownQueues(bundles []bundle) [][]*bundle {
	out := make([][]*bundle, len(p.pools))
	for i := range bundles {
		if b := &bundles[i]; b.left > 0 && b.pool != noPool {
			out[b.pool] = append(out[b.pool], b)
		}
	}
	return out
}

// candidates are the first bundles that nodes of the supply may be put in the
// place of, those of its own pool first: each part on them must have room on such a
// node.
func (p *plan) candidates(queues, own [][]*bundle, s *supply) []*bundle {
	var out []*bundle
	look := func(queues [][]*bundle, at int) {
		q := queues[at]
		for len(q) > 0 && q[0].left == 0 {
			q = q[1:]
		}
		queues[at] = q
		for _, b := range q[:min(len(q), maxOpen)] {
			if b.left > 0 && !slices.Contains(out, b) && p.replaces(s, b) {
				out = append(out, b)
			}
		}
	}
	if pool := p.shapes[s.shape].pool; pool != noPool {
		look(own, pool)
	}
	for _, at := range p.shapes[s.shape].parts {
		look(queues, at)
	}
	return out
}

// replaces reports whether every part on the bundle could run on the supply's nodes.
func (p *plan) replaces(s *supply, b *bundle) bool {
	for _, run := range b.runs {
		r := run.r
		if !p.meets(r, s.shape) || r.excludes(s.name) || s.free.fits(r.each) == 0 ||
			(r.alone() && !s.whole) || !p.mayRunIn(r, s.shape) {
			return false
		}
	}
	return true
}

// mayRunIn reports whether nodes of the shape are in a partition that the request
// may use. The nodes of one job are all of one partition, its target.
func (p *plan) mayRunIn(r *request, shape int) bool {
	for _, at := range p.shapes[shape].parts {
		if at == r.target {
			return true
		}
		if k := slices.Index(r.parts, at); k >= 0 && r.spread == 1 && r.faults[k] == faultNone {
			return true
		}
	}
	return false
}

// fillFree moves parts from the bundle's nodes to a free node with the room, and
// returns how many, and whether all of the bundle has gone, so that others may follow.
func (b *bundle) fillFree(room amounts, bin uint64) (moved uint64, gone bool) {
	for b.left > 0 {
		have := &b.runs[b.at]
		r := have.r
		if r.bin != bin {
			r.bin, r.inBin = bin, 0
		}
		want := have.parts - b.off
		n := min(want, room.fits(r.each), r.jobs-min(r.jobs, r.inBin))
		r.inBin += n
		b.off += n
		moved += n
		if n > 0 && r.alone() {
			// Jobs that share with their like only were put together already.
			clear(room)
		} else {
			room.take(r.each, n)
		}
		if n < want {
			return moved, false
		}
		b.off = 0
		if b.at++; b.at == len(b.runs) {
			b.at = 0
			b.left--
		}
	}
	return moved, true
}

package demand

import "slices"

// takeOff puts the free nodes in the place of new ones. Each takes its parts from
// the bundles in their order and without gaps, as far as its room goes; that makes
// a free node more never cost a new one.
func (p *plan) takeOff(bundles []bundle, free []supply) {
	queues := p.queues(bundles)
	own := p.ownQueues(bundles)
	seq := uint64(0)
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
			seq++
			copy(room, s.free)
			took := uint64(0)
			for _, b := range candidates {
				moved, gone := b.fillFree(room, seq)
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
func (b *bundle) fillFree(room amounts, seq uint64) (moved uint64, gone bool) {
	for b.left > 0 {
		have := &b.runs[b.at]
		r := have.r
		if r.bin != seq {
			r.bin, r.inBin = seq, 0
		}
		want := have.parts - b.off
		n := min(want, room.fits(r.each), less(r.together(r.jobs), r.inBin))
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

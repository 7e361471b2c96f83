package demand

import "slices"

// fillFreeNodes replaces new nodes by free ones. Each free node takes chunks from the bins in their
// order and without gaps, as far as its room allows. One more free node therefore never costs a new
// one.
func (p *plan) takeOff(bins []bundle, free []supply) {
	queues := p.queues(bins)
	own := p.ownQueues(bins)
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

// binsByPartition lists the bins by the partitions whose free nodes can replace them.
func (p *plan) queues(bins []bundle) [][]*bundle {
	out := make([][]*bundle, len(p.parts))
	for i := range bins {
		b := &bins[i]
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

// binsByPool lists the bins by their pools.
func (p *plan) ownQueues(bins []bundle) [][]*bundle {
	out := make([][]*bundle, len(p.pools))
	for i := range bins {
		if b := &bins[i]; b.left > 0 && b.pool != noPool {
			out[b.pool] = append(out[b.pool], b)
		}
	}
	return out
}

// candidateBins returns the first bins that the free nodes can replace, those of their own pool
// first. Each chunk in the bins must fit on such a node.
func (p *plan) candidates(queues, own [][]*bundle, s *supply) []*bundle {
	var out []*bundle
	search := func(queues [][]*bundle, at int) {
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
		search(own, pool)
	}
	for _, at := range p.shapes[s.shape].parts {
		search(queues, at)
	}
	return out
}

// canReplace reports whether every chunk in the bin could run on the free nodes.
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

// canRunOn reports whether nodes of the shape are in a partition that the request can use. All
// nodes of one job are in one partition, the target.
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

// moveChunks moves chunks from the bin to a free node with the room. It returns how many, and
// whether the bin is now empty, so that others can follow.
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
			// Jobs that share nodes only with their group were packed together already.
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

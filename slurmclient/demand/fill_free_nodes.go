package demand

import (
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
)

// fillFreeNodes replaces new nodes by free ones. Each free node takes chunks from the bins in their
// order and without gaps, as far as its room allows. One more free node therefore never costs a new
// one.
func (p *planner) fillFreeNodes(bins []bin, free []freeNodes) {
	queues := p.binsByPartition(bins)
	own := p.binsByPool(bins)
	seq := uint64(0)
	for i := range free {
		if p.work.isCanceled() {
			return
		}
		s := &free[i]
		var candidates []*bin
		room := make(model.Amounts, len(s.free))
		for range s.count {
			for len(candidates) > 0 && candidates[0].count == 0 {
				candidates = candidates[1:]
			}
			if len(candidates) == 0 {
				if candidates = p.candidateBins(queues, own, s); len(candidates) == 0 {
					break
				}
			}
			seq++
			copy(room, s.free)
			took := uint64(0)
			for _, b := range candidates {
				moved, gone := b.moveChunks(room, seq)
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
func (p *planner) binsByPartition(bins []bin) [][]*bin {
	out := make([][]*bin, len(p.Partitions))
	for i := range bins {
		b := &bins[i]
		if b.count == 0 {
			continue
		}
		first := b.runs[0].request
		for k, at := range first.partitions {
			if at == b.partition || (first.nodesPerJob == 1 && first.misfits[k] == model.MisfitNone) {
				out[at] = append(out[at], b)
			}
		}
	}
	return out
}

// binsByPool lists the bins by their pools.
func (p *planner) binsByPool(bins []bin) [][]*bin {
	out := make([][]*bin, len(p.Pools))
	for i := range bins {
		if b := &bins[i]; b.count > 0 && b.pool != model.NoPool {
			out[b.pool] = append(out[b.pool], b)
		}
	}
	return out
}

// candidateBins returns the first bins that the free nodes can replace, with the bins of their own pool first. Each
// chunk in the bins must fit on such a node.
func (p *planner) candidateBins(queues, own [][]*bin, s *freeNodes) []*bin {
	var out []*bin
	search := func(queues [][]*bin, at int) {
		q := queues[at]
		for len(q) > 0 && q[0].count == 0 {
			q = q[1:]
		}
		queues[at] = q
		p.work.spend(1 + min(len(q), maxOpenBins))
		for _, b := range q[:min(len(q), maxOpenBins)] {
			if b.count == 0 || b.triedFor == s {
				continue
			}
			if b.triedFor = s; p.canReplace(s, b) {
				out = append(out, b)
			}
		}
	}
	if pool := p.Shapes[s.shape].Pool; pool != model.NoPool {
		search(own, pool)
	}
	for _, at := range p.Shapes[s.shape].Partitions {
		search(queues, at)
	}
	return out
}

// canReplace reports whether every chunk in the bin could run on the free nodes.
func (p *planner) canReplace(s *freeNodes, b *bin) bool {
	for _, run := range b.runs {
		r := run.request
		if !p.meets(r, s.shape) || r.ExcludesNode(s.name) || s.free.Fits(r.chunk) == 0 ||
			(r.keepsOthersOff() && !s.empty) || !p.canRunOn(r, s.shape) {
			return false
		}
	}
	return true
}

// canRunOn reports whether nodes of the shape are in a partition that the request can use. All
// nodes of one job are in one partition, the target.
func (p *planner) canRunOn(r *request, shape int) bool {
	for _, at := range p.Shapes[shape].Partitions {
		if at == r.target {
			return true
		}
		if k := slices.Index(r.partitions, at); k >= 0 && r.nodesPerJob == 1 && r.misfits[k] == model.MisfitNone {
			return true
		}
	}
	return false
}

// moveChunks moves chunks from the bin to a free node with the room. It returns how many, and
// whether the bin is now empty, so that others can follow.
func (b *bin) moveChunks(room model.Amounts, seq uint64) (moved uint64, gone bool) {
	for b.count > 0 {
		have := &b.runs[b.runIndex]
		r := have.request
		if r.freeNode != seq {
			r.freeNode, r.chunksOnFreeNode = seq, 0
		}
		want := have.chunks - b.runOffset
		n := min(want, room.Fits(r.chunk), saturating.Sub(r.maxChunksPerNode(r.jobs), r.chunksOnFreeNode))
		r.chunksOnFreeNode += n
		b.runOffset += n
		moved += n
		if n > 0 && r.keepsOthersOff() {
			// Jobs that share nodes only with their group were packed together already.
			clear(room)
		} else {
			room.Take(r.chunk, n)
		}
		if n < want {
			return moved, false
		}
		b.runOffset = 0
		if b.runIndex++; b.runIndex == len(b.runs) {
			b.runIndex = 0
			b.count--
		}
	}
	return moved, true
}

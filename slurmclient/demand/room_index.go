package demand

import (
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
)

// roomIndex finds the pools of a partition that may have room for a job, without trying every pool. It is a binary tree whose leaves are
// the partition's sources: each inner node has, for each resource, the largest room below it.
type roomIndex struct {
	size int // number of leaves, a power of 2
	// room has the amounts of every tree node, of the root at 1. The leaf of a source is at size plus its index.
	room []model.Amounts
	// kinds are the kinds of nodes of the sources, each by one shape of it; nil if they are too many.
	kinds []int
}

// maxIndexedKinds bounds for how many kinds of nodes a job's chunk is computed before it is known which pools have room.
const maxIndexedKinds = 8

// maxListedSources is for how many sources a list is faster than the tree.
const maxListedSources = 16

// newRoomIndex returns an index of that many sources without room.
func newRoomIndex(sources, resources int) *roomIndex {
	x := &roomIndex{size: 1}
	for x.size < sources {
		x.size *= 2
	}
	all := make(model.Amounts, 2*x.size*resources)
	for i := range 2 * x.size {
		x.room = append(x.room, all[i*resources:][:resources:resources])
	}
	return x
}

// set sets the room of a source.
func (x *roomIndex) set(source int, room model.Amounts) {
	i := x.size + source
	if slices.Equal(x.room[i], room) {
		return
	}
	copy(x.room[i], room)
	for i /= 2; i > 0; i /= 2 {
		changed := false
		for k := range x.room[i] {
			most := max(x.room[2*i][k], x.room[2*i+1][k])
			changed = changed || most != x.room[i][k]
			x.room[i][k] = most
		}
		if !changed {
			return
		}
	}
}

// next returns the first source from the index on that may have room for one of the chunks and that accept accepts, -1 for none.
func (x *roomIndex) next(from int, chunks []model.Amounts, accept func(source int) bool) int {
	return x.search(1, 0, x.size, from, chunks, accept)
}

// nextOf is next for a few sources.
func (x *roomIndex) nextOf(sources []int, from int, chunks []model.Amounts, accept func(source int) bool) int {
	for _, k := range sources {
		if k >= from && slices.ContainsFunc(chunks, x.room[x.size+k].Covers) && accept(k) {
			return k
		}
	}
	return -1
}

func (x *roomIndex) search(at, low, high, from int, chunks []model.Amounts, accept func(source int) bool) int {
	if high <= from || !slices.ContainsFunc(chunks, x.room[at].Covers) {
		return -1
	}
	if high-low == 1 {
		if accept(low) {
			return low
		}
		return -1
	}
	middle := (low + high) / 2
	if found := x.search(2*at, low, middle, from, chunks, accept); found >= 0 {
		return found
	}
	return x.search(2*at+1, middle, high, from, chunks, accept)
}

// indexOf returns the index of the partition's sources.
func (b *packer) indexOf(part int) *roomIndex {
	if b.indexes[part] != nil {
		return b.indexes[part]
	}
	sources := b.Partitions[part].Sources
	x := newRoomIndex(len(sources), model.AmountGRES+len(b.GresNames))
	b.indexes[part] = x
	seen := make(map[int]bool, maxIndexedKinds)
	for k := range sources {
		if sources[k].Pool == model.NoPool {
			continue
		}
		for _, shape := range sources[k].Shapes {
			if kind := b.kinds[shape]; !seen[kind] && len(x.kinds) <= maxIndexedKinds {
				seen[kind], x.kinds = true, append(x.kinds, shape)
			}
		}
		b.members[sources[k].Pool] = append(b.members[sources[k].Pool], sourceInIndex{x, k})
		x.set(k, b.roomOfPool(sources[k].Pool))
	}
	if len(x.kinds) > maxIndexedKinds {
		x.kinds = nil
	}
	return x
}

// sourceInIndex is a pool as the source of an indexed partition.
type sourceInIndex struct {
	*roomIndex
	source int
}

// roomOfPool returns, for each resource, at least the largest room on a node that the pool has or can add. The caller does not keep it.
func (b *packer) roomOfPool(pool int) model.Amounts {
	p := &b.Pools[pool]
	if !p.Limited || p.NewLeft > 0 {
		return b.anyRoom
	}
	clear(b.scratchRoom)
	for _, shape := range p.Shapes {
		if len(b.openBins[shape]) > 0 {
			b.scratchRoom.Raise(b.openRoom[shape])
		}
	}
	return b.scratchRoom
}

// updateIndexes updates the room of the pool in the indexes.
func (b *packer) updateIndexes(pool int) {
	if pool == model.NoPool || len(b.members[pool]) == 0 {
		return
	}
	room := b.roomOfPool(pool)
	for _, in := range b.members[pool] {
		in.set(in.source, room)
	}
}

// smallestChunks returns chunks of which a node of the partition has to have room for one, if it is to run a job of the request.
func (b *packer) smallestChunks(r *request, part int, x *roomIndex) []model.Amounts {
	b.chunks = b.chunks[:0]
	if r.keepsOthersOff() {
		return append(b.chunks, b.anyRoom) // only new nodes
	}
	maxCPUs, most := b.Partitions[part].MaxCPUs, r.MaxSpread(b.nodeLimit(r, part))
	if x.kinds == nil {
		b.PerNode(&r.Requirements, b.least, nil, max(most, 1))
		if !b.TakesMemory {
			b.least[model.AmountMemory] = 0
		}
		return append(b.chunks, b.least)
	}
	for _, shape := range x.kinds {
		on := b.spreadOn(r, shape, maxCPUs, most)
		if on.misfit == model.MisfitNone && !slices.ContainsFunc(b.chunks, func(v model.Amounts) bool { return slices.Equal(v, on.chunk) }) {
			b.chunks = append(b.chunks, on.chunk)
		}
	}
	return b.chunks
}

// nextAssignment is planner.nextAssignment, but leaves out pools that have no room for any job of the request.
func (b *packer) nextAssignment(r *request) (assignment, bool) {
	if len(b.Pools) == 0 || len(r.RequiredNodes) > 0 {
		return assignment{}, false
	}
	to := sourcePosition{r.from.partition, r.from.source + 1}
	for ; to.partition < len(r.partitions); to = (sourcePosition{partition: to.partition + 1}) {
		if r.misfits[to.partition] != model.MisfitNone {
			continue
		}
		at := r.partitions[to.partition]
		x := b.indexOf(at)
		var how placement
		canRun := func(source int) bool {
			var f model.Misfit
			how, f = b.trySource(r, at, &b.Partitions[at].Sources[source])
			return f == model.MisfitNone
		}
		chunks := b.smallestChunks(r, at, x)
		var found int
		if some, all := b.sourcesFor(r, at); !all && len(some) <= maxListedSources {
			found = x.nextOf(some, to.source, chunks, canRun)
		} else {
			found = x.next(to.source, chunks, canRun)
		}
		if found >= 0 {
			return assignment{at, how, sourcePosition{to.partition, found}}, true
		}
	}
	return assignment{}, false
}

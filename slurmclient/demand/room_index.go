package demand

import (
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
)

// roomIndex finds the pools of a partition that may have room for a job, without trying every pool. It is a binary tree whose leaves are
// the partition's sources: each inner node has, for each amount, the largest below it.
type roomIndex struct {
	size int // number of leaves, a power of 2
	// room has the amounts of every tree node; the root is at 1. The leaf of a source is at size plus its index.
	room []poolAmounts
	// kinds are the kinds of nodes of the sources, each by one shape of it; nil if they are too many.
	kinds []int
	// visits counts the tree nodes and sources that were compared with needs.
	visits int
}

// poolAmounts are what all open bins of a pool have together, or what a job needs of them: the largest amounts on one node, the sums over
// the nodes, and the number of nodes.
type poolAmounts = model.Amounts

// onNode and inSum are the parts of poolAmounts.
func onNode(a poolAmounts) model.Amounts { return a[:len(a)/2] }
func inSum(a poolAmounts) model.Amounts  { return a[len(a)/2 : len(a)-1] }

// maxIndexedKinds limits for how many kinds of nodes a job's chunk is computed before the pools with room are known.
const maxIndexedKinds = 8

// maxListedSources is for how many sources a list is faster than the tree.
const maxListedSources = 16

// newRoomIndex returns an index of that many sources without room, by that many amounts.
func newRoomIndex(sources, amounts int) *roomIndex {
	x := &roomIndex{size: 1}
	for x.size < sources {
		x.size *= 2
	}
	all := make(poolAmounts, 2*x.size*amounts)
	for i := range 2 * x.size {
		x.room = append(x.room, all[i*amounts:][:amounts:amounts])
	}
	return x
}

// set sets the room of a source.
func (x *roomIndex) set(source int, room poolAmounts) {
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

// next returns the first source from the index on that may have room for one of the needs and that accept accepts, -1 for none.
func (x *roomIndex) next(from int, needs []poolAmounts, accept func(source int) bool) int {
	return x.search(1, 0, x.size, from, needs, accept)
}

// nextOf is next for a few sources.
func (x *roomIndex) nextOf(sources []int, from int, needs []poolAmounts, accept func(source int) bool) int {
	for _, k := range sources {
		x.visits++
		if k >= from && slices.ContainsFunc(needs, x.room[x.size+k].Covers) && accept(k) {
			return k
		}
	}
	return -1
}

func (x *roomIndex) search(at, low, high, from int, needs []poolAmounts, accept func(source int) bool) int {
	x.visits++
	if high <= from || !slices.ContainsFunc(needs, x.room[at].Covers) {
		return -1
	}
	if high-low == 1 {
		if accept(low) {
			return low
		}
		return -1
	}
	middle := (low + high) / 2
	if found := x.search(2*at, low, middle, from, needs, accept); found >= 0 {
		return found
	}
	return x.search(2*at+1, middle, high, from, needs, accept)
}

// indexOf returns the index of the partition's sources.
func (b *packer) indexOf(part int) *roomIndex {
	if b.indexes[part] != nil {
		return b.indexes[part]
	}
	sources := b.Partitions[part].Sources
	x := newRoomIndex(len(sources), len(b.anyRoom))
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

// manyNodes is how many new nodes are enough for most jobs.
const manyNodes = 8

// roomOfPool returns what the nodes of the pool have left, everything on each where it can add one. The caller does not keep it.
func (b *packer) roomOfPool(pool int) poolAmounts {
	p := &b.Pools[pool]
	switch {
	case b.isCoarse() && p.Limited:
		return b.roomOfNewNodes(p)
	case !p.Limited || p.NewLeft >= manyNodes:
		return b.anyRoom
	case p.NewLeft > 0:
		copy(b.scratch, b.anyRoom)
		b.scratch[len(b.scratch)-1] = saturating.Add(p.NewLeft, b.countOpenNodes(p))
		return b.scratch
	}
	clear(b.scratch)
	b.work.spend(len(p.Shapes))
	sum, nodes := inSum(b.scratch), &b.scratch[len(b.scratch)-1]
	for _, shape := range p.Shapes {
		if len(b.openBins[shape]) == 0 {
			continue
		}
		b.measureOpenRoom(shape)
		b.work.spend(len(b.openBins[shape]))
		onNode(b.scratch).Raise(b.openRoom[shape])
		for _, i := range b.openBins[shape] {
			have := &b.bins[i]
			*nodes = saturating.Add(*nodes, have.count)
			for k, x := range have.room {
				sum[k] = saturating.Add(sum[k], saturating.Mul(x, have.count))
			}
		}
	}
	return b.scratch
}

// countOpenNodes returns how many new nodes of the pool have room.
func (b *packer) countOpenNodes(p *model.PoolState) (nodes uint64) {
	for _, shape := range p.Shapes {
		b.work.spend(1 + len(b.openBins[shape]))
		for _, i := range b.openBins[shape] {
			nodes = saturating.Add(nodes, b.bins[i].count)
		}
	}
	return nodes
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

// leastNeeds returns alternative amounts. A pool of the partition must have at least one of them to run a job of the request. They are
// valid until the next call.
func (b *packer) leastNeeds(r *request, part int, x *roomIndex) []poolAmounts {
	b.needs = b.needs[:0]
	if b.isCoarse() {
		b.setNeedOfNewNodes(b.addNeed(), r)
		return b.needs
	}
	if r.keepsOthersOff() {
		need := b.addNeed()
		copy(need, b.anyRoom) // only new nodes
		need[len(need)-1] = max(1, r.Nodes)
		b.spreadNeeds[0] = spreadNeed{max(1, r.Nodes), 1, 1}
		return b.needs
	}
	maxCPUs, most := b.Partitions[part].MaxCPUs, r.MaxSpread(b.nodeLimit(r, part))
	if x.kinds == nil {
		b.setLeastNeed(b.addNeed(), r, most)
		b.spreadNeeds[0] = spreadNeed{1, 1, 1}
		return b.needs
	}
	b.work.spend(len(x.kinds))
	for _, shape := range x.kinds {
		on := b.spreadOn(r, shape, maxCPUs, most)
		if on.misfit != model.MisfitNone {
			continue
		}
		need := b.addNeed()
		copy(onNode(need), on.chunk)
		for k, amount := range on.chunk {
			inSum(need)[k] = saturating.Mul(amount, on.chunkCount(r.Tasks))
		}
		of := spreadNeed{on.nodesPerJob, 1, 1}
		need[len(need)-1] = on.nodesPerJob
		if on.scattered {
			of = spreadNeed{r.Tasks, r.Tasks, min(on.chunksPerEmptyNode, r.Tasks)}
			need[len(need)-1] = 1
		}
		last := len(b.needs) - 1
		b.spreadNeeds[last] = of
		if i := slices.IndexFunc(b.needs, func(n poolAmounts) bool { return slices.Equal(n, need) }); i < last {
			b.spreadNeeds[i].perNewNode = max(b.spreadNeeds[i].perNewNode, of.perNewNode)
			b.needs = b.needs[:last]
		}
	}
	return b.needs
}

// spreadNeed is how a job divides over nodes: into that many chunks, and how many of them fit on any node, and on a new one.
type spreadNeed struct{ chunks, perNode, perNewNode uint64 }

// addNeed adds amounts to needs, and returns them. Their content is undefined.
func (b *packer) addNeed() poolAmounts {
	b.needs = b.needs[:len(b.needs)+1]
	return b.needs[len(b.needs)-1]
}

// setLeastNeed sets what a job of the request needs at least, on nodes of any kind: it is spread over at most that many.
func (b *packer) setLeastNeed(need poolAmounts, r *request, most uint64) {
	chunk, sum := onNode(need), inSum(need)
	b.PerNode(&r.Requirements, chunk, nil, max(most, 1))
	sum[model.AmountCPUs] = max(chunk[model.AmountCPUs], r.CPUs)
	sum[model.AmountMemory] = max(chunk[model.AmountMemory], saturating.Mul(r.MemoryPerCPU, r.CPUs))
	for k, name := range b.GresNames {
		sum[model.AmountGRES+k] = max(chunk[model.AmountGRES+k], r.GresPerJob[name])
	}
	if !b.TakesMemory {
		chunk[model.AmountMemory], sum[model.AmountMemory] = 0, 0
	}
	need[len(need)-1] = 1
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
		if how, found, ok := b.nextSource(r, at, to.source); ok {
			return assignment{at, how, sourcePosition{to.partition, found}}, true
		}
	}
	return assignment{}, false
}

// nextSource returns the first source of the partition, from the index on, that could run jobs of the request and may have room. It also
// returns how the jobs run on its nodes. A coarse packer gives up after a few sources.
func (b *packer) nextSource(r *request, part, from int) (how placement, source int, ok bool) {
	x, sources := b.indexOf(part), b.Partitions[part].Sources
	needs, triesLeft := b.leastNeeds(r, part, x), len(sources)
	some, all := b.sourcesToPack(r, part)
	if b.isCoarse() {
		triesLeft = maxGuesses
	}
	canRun := func(source int) bool {
		if triesLeft == 0 {
			return true
		}
		if !b.isCoarse() && !b.mayHaveRoom(sources[source].Pool, needs) {
			return false
		}
		triesLeft--
		var f model.Misfit
		how, f = b.trySource(r, part, b.shapesToPack(&sources[source]))
		ok = f == model.MisfitNone
		return ok
	}
	x.visits = 0
	defer func() { b.work.spend(x.visits) }()
	if !all && len(some) <= maxListedSources {
		source = x.nextOf(some, from, needs, canRun)
	} else {
		source = x.next(from, needs, canRun)
	}
	if b.isCoarse() && !ok {
		triesLeft = maxGuesses / 2
		source = x.next(max(from, int(r.LowestID)%len(sources)), needs, canRun)
	}
	return how, source, ok
}

// mayHaveRoom reports whether the nodes that the pool can add, and its new nodes with room, have room for one of the needs.
func (b *packer) mayHaveRoom(pool int, needs []poolAmounts) bool {
	p := &b.Pools[pool]
	if !p.Limited {
		return true
	}
	for k, need := range needs {
		of, chunk := &b.spreadNeeds[k], onNode(need)
		room := saturating.Mul(p.NewLeft, of.perNewNode)
		for _, shape := range p.Shapes {
			if room >= of.chunks {
				return true
			}
			b.work.spend(1 + len(b.openBins[shape]))
			for _, i := range b.openBins[shape] {
				if have := &b.bins[i]; have.room.Covers(chunk) {
					room = saturating.Add(room, saturating.Mul(have.count, min(of.perNode, have.room.Fits(chunk))))
				}
			}
		}
		if room >= of.chunks {
			return true
		}
	}
	return false
}

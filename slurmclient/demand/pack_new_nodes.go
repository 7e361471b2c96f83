package demand

import (
	"math"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
)

// packer packs requests on new nodes.
type packer struct {
	*planner
	bins []bin
	// window is how many open bins of a shape are tried.
	window int
	// openBins are the bins with room, by shape. openRoom is, for each shape, at least the largest room for each resource on them. A chunk
	// without room in openRoom therefore fits on none of them.
	openBins [][]int
	openRoom []model.Amounts
	// indexes are the indexes of the partitions, nil until needed. members are the pools' places in them.
	indexes []*roomIndex
	members [][]sourceInIndex
	// anyRoom is room for anything. scratch and needs are reused.
	anyRoom, scratch poolAmounts
	needs            []poolAmounts
	spreadNeeds      [maxIndexedKinds]spreadNeed // of needs, by index
	ownShape         []int
}

func newPacker(p *planner) *packer {
	amounts := 2*(model.AmountGRES+len(p.GresNames)) + 1
	needs := make([]poolAmounts, maxIndexedKinds)
	for i := range needs {
		needs[i] = make(poolAmounts, amounts)
	}
	return &packer{planner: p, window: maxOpenBins, needs: needs,
		openBins: make([][]int, len(p.Shapes)), openRoom: make([]model.Amounts, len(p.Shapes)),
		indexes: make([]*roomIndex, len(p.Partitions)), members: make([][]sourceInIndex, len(p.Pools)),
		anyRoom: slices.Repeat(poolAmounts{math.MaxUint64}, amounts), scratch: make(poolAmounts, amounts)}
}

// assignPools assigns the request's jobs to the pools that could run them, as many to each pool as its Max allows, and returns the number
// of remaining jobs.
func (b *packer) assignPools(r *request) uint64 {
	rest, copied := r, false // only a copy that has not been packed is modified
	full := 0
	for {
		n := b.countAllowed(rest)
		if n == rest.jobs {
			b.packRequest(rest)
			return 0
		}
		if n > 0 {
			some := *rest
			some.jobs = n
			b.packRequest(&some)
		} else if full++; b.givesUp(rest, full) {
			return rest.jobs
		}
		to, ok := b.nextAssignment(rest)
		if !ok {
			return rest.jobs - n
		}
		if !copied {
			another := *r
			rest, copied = &another, true
		}
		rest.assignment, rest.jobs = to, rest.jobs-n
	}
}

// CountAllowed returns for how many of the request's jobs the pool can have nodes. Only whole jobs
// count, since a part of a job cannot start.
func (b *packer) countAllowed(r *request) uint64 {
	if r.pool == model.NoPool || !b.Pools[r.pool].Limited {
		return r.jobs
	}
	chunks := r.chunkCount()
	if chunks == 0 ||
		saturating.Mul(r.jobs, chunks) <= saturating.Mul(b.Pools[r.pool].NewLeft,
			min(r.chunksPerEmptyNode, r.maxChunksPerNode(r.jobs))) {
		return r.jobs
	}
	jobs := r.jobs
	for jobs > 0 {
		fit := b.chunkCapacity(r, jobs) / chunks
		if fit >= jobs {
			return jobs
		}
		jobs = fit
	}
	return 0
}

// chunkCapacity returns how many chunks of the given number of the request's jobs fit. It counts the nodes with room, and the nodes that
// the pool can still add. No two chunks of one job share a node, so a node takes at most one chunk of each job.
func (b *packer) chunkCapacity(r *request, jobs uint64) uint64 {
	sum := saturating.Mul(b.Pools[r.pool].NewLeft, min(r.chunksPerEmptyNode, r.maxChunksPerNode(jobs)))
	if r.keepsOthersOff() || r.shape < 0 {
		return sum
	}
	for _, shape := range b.candidateShapes(r) {
		if !b.mayFit(r, shape) || !b.meets(r, shape) {
			continue
		}
		before := sum
		b.work.spend(len(b.openBins[shape]))
		for _, i := range b.openBins[shape] {
			have := &b.bins[i]
			if !have.room.Covers(r.chunk) {
				continue
			}
			chunks := min(have.room.Fits(r.chunk), r.maxChunksPerNode(jobs))
			sum = saturating.Add(sum, saturating.Mul(chunks, have.count))
		}
		if sum == before {
			b.measureOpenRoom(shape)
		}
	}
	return sum
}

// mayFit reports whether a chunk of the request may fit on an open bin of the shape.
func (b *packer) mayFit(r *request, shape int) bool {
	return len(b.openBins[shape]) > 0 && b.openRoom[shape].Covers(r.chunk)
}

// measureOpenRoom determines the largest room on the open bins of a shape.
func (b *packer) measureOpenRoom(shape int) {
	clear(b.openRoom[shape])
	b.work.spend(len(b.openBins[shape]))
	for _, i := range b.openBins[shape] {
		b.openRoom[shape].Raise(b.bins[i].room)
	}
}

// chunkCount returns the number of chunks of a job, not counting the nodes that it names.
func (r *request) chunkCount() uint64 {
	if r.scattered {
		return r.Tasks
	}
	return r.unnamedNodes()
}

// maxChunksPerNode returns how many chunks of the given number of jobs one node can have: one of each job, unless the tasks are scattered.
func (r *request) maxChunksPerNode(jobs uint64) uint64 {
	if r.scattered {
		return saturating.Mul(jobs, r.Tasks)
	}
	return jobs
}

// unnamedNodes returns how many nodes a job needs in addition to the nodes it names.
func (r *request) unnamedNodes() uint64 {
	return r.nodesPerJob - min(r.nodesPerJob, uint64(len(r.RequiredNodes)))
}

// keepsOthersOff reports whether other jobs are kept off the request's nodes.
func (r *request) keepsOthersOff() bool { return r.Exclusive || r.ExclusiveToGroup }

// candidateShapes returns the shapes of the source that the request's nodes come from.
func (b *packer) candidateShapes(r *request) []int {
	if b.isCoarse() {
		b.ownShape = append(b.ownShape[:0], r.shape)
		return b.ownShape
	}
	if r.pool != model.NoPool {
		return b.Pools[r.pool].Shapes
	}
	return b.Partitions[r.target].Shapes
}

// packRequest packs the request's jobs on the nodes of their assignment.
func (b *packer) packRequest(r *request) {
	if r.pool != model.NoPool {
		d := &b.Pools[r.pool].Result
		d.EligiblePendingJobs += r.jobs
		d.OldestEligible = model.EarlierTime(d.OldestEligible, r.Eligible)
	}
	left := saturating.Mul(r.jobs, r.chunkCount())
	if r.shape >= 0 && !r.keepsOthersOff() {
		left = b.fillOpenBins(r, left)
	}
	b.addBins(r, left)
	b.updateIndexes(r.pool)
}

// fillOpenBins packs chunks of the request's jobs in bins with room, no two chunks of one job on one node, and returns the number of
// remaining chunks.
func (b *packer) fillOpenBins(r *request, left uint64) uint64 {
	shapes := b.candidateShapes(r)
	b.work.spend(len(shapes))
	for _, shape := range shapes {
		if left == 0 {
			break
		}
		if !b.mayFit(r, shape) || !b.meets(r, shape) {
			continue
		}
		b.work.spend(len(b.openBins[shape]))
		for _, i := range slices.Clone(b.openBins[shape]) {
			if left > 0 {
				left -= b.fillBin(i, r, left)
			}
		}
		b.openBins[shape] = slices.DeleteFunc(b.openBins[shape], func(i int) bool {
			return b.bins[i].room[model.AmountCPUs] == 0
		})
	}
	return left
}

// fillBin packs up to left chunks on the nodes of a bin. It splits the bin into nodes with as many chunks as fit, one node with the rest,
// and empty nodes.
func (b *packer) fillBin(i int, r *request, left uint64) (put uint64) {
	have := &b.bins[i]
	per := min(have.room.Fits(r.chunk), r.maxChunksPerNode(r.jobs))
	if per == 0 {
		return 0
	}
	put = min(left, saturating.Mul(per, have.count))
	full, rest := put/per, put%per
	if full == have.count {
		have.addChunks(r, per)
		return put
	}
	old := *have
	have.count -= full
	if rest > 0 {
		have.count--
		b.splitBin(old, 1, r, rest)
	}
	if full > 0 {
		b.splitBin(old, full, r, per)
	}
	if b.bins[i].count == 0 {
		b.bins[i].room = make(model.Amounts, len(old.room))
	}
	return put
}

// splitBin adds a copy of the bin with more chunks on it.
func (b *packer) splitBin(from bin, count uint64, r *request, chunks uint64) {
	b.work.spend(1 + len(from.runs)/8)
	from.runs, from.room, from.count = slices.Clone(from.runs), slices.Clone(from.room), count
	from.addChunks(r, chunks)
	b.pushBin(from)
}

func (b *bin) addChunks(r *request, chunks uint64) {
	b.runs = append(b.runs, chunkRun{r, chunks})
	b.room.Take(r.chunk, chunks)
}

func (b *packer) pushBin(n bin) {
	b.bins = append(b.bins, n)
	if n.shape < 0 || n.room[model.AmountCPUs] == 0 {
		return
	}
	if b.openRoom[n.shape] == nil {
		b.openRoom[n.shape] = make(model.Amounts, len(n.room))
	}
	b.openRoom[n.shape].Raise(n.room)
	b.openBins[n.shape] = append(b.openBins[n.shape], len(b.bins)-1)
	b.openBins[n.shape] = b.openBins[n.shape][max(0, len(b.openBins[n.shape])-b.window):]
}

// addBins packs the remaining chunks on new nodes.
func (b *packer) addBins(r *request, left uint64) {
	per := min(r.chunksPerEmptyNode, r.maxChunksPerNode(r.jobs))
	if left == 0 || per == 0 {
		return
	}
	for _, n := range [...]struct{ nodes, chunks uint64 }{{left / per, per}, {min(1, left%per), left % per}} {
		if n.nodes == 0 {
			continue
		}
		fresh := bin{partition: r.target, pool: r.pool, shape: r.shape, count: n.nodes, runs: []chunkRun{{r, n.chunks}}}
		if r.shape >= 0 {
			fresh.room = slices.Clone(b.Shapes[r.shape].Room)
			if r.keepsOthersOff() || b.Shapes[r.shape].OneJobPerNode {
				clear(fresh.room)
			} else {
				fresh.room.Take(r.chunk, n.chunks)
			}
		}
		b.pushBin(fresh)
		if r.pool != model.NoPool {
			p := &b.Pools[r.pool]
			p.NewLeft = saturating.Sub(p.NewLeft, n.nodes)
		}
	}
}

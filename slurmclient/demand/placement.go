package demand

import (
	"math"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
)

// placement is how a job would run on new nodes.
type placement struct {
	// pool is the index of the pool of the nodes, or noPool.
	pool int
	// shape is the shape of the nodes, -1 when the partition does not show it. Each node then has
	// one job.
	shape int
	// chunk is what the job allocates on each of nodesPerJob nodes. chunksPerEmptyNode chunks fit
	// on an empty node.
	chunk                           amounts
	nodesPerJob, chunksPerEmptyNode uint64
	// scattered is whether each chunk is one task, any number of which can share a node.
	scattered bool
}

// sourcePosition is an index in the partitions of a request, and in the sources of that partition.
type sourcePosition struct{ partition, source int }

// placeFrom returns how a partition of the request could run its jobs: by the first source from the
// position on that could run them and is not full.
func (p *planner) placeFrom(r *request, from sourcePosition) (placement, sourcePosition, misfit) {
	at := r.partitions[from.partition]
	worst := misfitNone
	for n := len(p.partitions[at].sources); from.source < n; from.source++ {
		source := &p.partitions[at].sources[from.source]
		if source.pool != noPool && p.pools[source.pool].full {
			continue
		}
		how, f := p.trySource(r, at, source)
		if f == misfitNone {
			return how, from, f
		}
		worst = max(worst, f)
	}
	return placement{}, from, worst
}

// nextAssignment finds the first assignment after the current one: another pool that could run the
// request's jobs. The number of nodes outside pools is fixed.
func (p *planner) nextAssignment(r *request) (assignment, bool) {
	if len(p.pools) == 0 || len(r.requiredNodes) > 0 {
		return assignment{}, false
	}
	to := sourcePosition{r.from.partition, r.from.source + 1}
	for ; to.partition < len(r.partitions); to = (sourcePosition{partition: to.partition + 1}) {
		at := r.partitions[to.partition]
		if r.misfits[to.partition] != misfitNone || to.source == len(p.partitions[at].sources) {
			continue
		}
		if how, from, f := p.placeFrom(r, to); f == misfitNone && from.source < len(p.partitions[at].sources) &&
			how.pool != noPool {
			return assignment{at, how, from}, true
		}
	}
	return assignment{}, false
}

// trySource returns how new nodes of the source could run the request's jobs in the partition.
func (p *planner) trySource(r *request, at int, from *nodeSource) (placement, misfit) {
	pt := &p.partitions[at]
	if !pt.open {
		return placement{}, misfitClosed
	}
	if !r.readable {
		return placement{}, misfitUnreadable
	}
	if r.cutsTasks(pt.maxCPUs) {
		return placement{}, misfitTasks
	}
	if p.fillsNodes && r.tasks == 1 && r.tasksPerNode > 1 && !r.exclusive {
		return placement{}, misfitTasks // slurmctld searches room for all tasks, and allocates that of one
	}
	most := r.maxSpread(p.nodeLimit(r, at))
	if most < r.nodes {
		return placement{}, misfitNodes
	}
	if len(r.requiredNodes) > 0 {
		return p.tryNamedNodes(r, at, from, most)
	}
	if len(from.shapes) == 0 {
		return p.placeOnUnknownNodes(r), misfitNone
	}
	return p.tryShapes(r, at, from, most)
}

// nodeLimit returns how many nodes the partition allows a job of the request; 0 for any number.
func (p *planner) nodeLimit(r *request, part int) uint64 {
	if r.anyNodes {
		return 0
	}
	return p.partitions[part].maxNodes
}

// cutsTasks reports whether slurmctld would allocate CPUs on each node on which the tasks do not
// fit, because the partition limits CPUs per node. It counts CPUs, and starts no such job.
func (n *requirements) cutsTasks(maxCPUs uint64) bool {
	if maxCPUs == 0 || n.cpusPerTask <= 1 || n.cpusPerTask > maxCPUs || n.exclusive ||
		n.tasks*n.cpusPerTask <= maxCPUs {
		return false
	}
	full := n.cpus / maxCPUs
	return full*(maxCPUs/n.cpusPerTask)+n.cpus%maxCPUs/n.cpusPerTask < n.tasks
}

// cutsWholeNode reports whether the job requires whole nodes of the shape, and these have more CPUs
// than the partition allows on one node. slurmctld starts no such job.
func (n *requirements) cutsWholeNode(s *shape, maxCPUs uint64) bool {
	return n.exclusive && maxCPUs > 0 && !s.oneJobPerNode && s.room[amountCPUs] > maxCPUs
}

// placeOnUnknownNodes places a job on nodes of unknown shape.
func (p *planner) placeOnUnknownNodes(r *request) placement {
	how := placement{pool: noPool, shape: -1, chunk: make(amounts, amountGRES+len(p.gresNames)), nodesPerJob: r.nodes,
		chunksPerEmptyNode: 1}
	p.perNode(&r.requirements, how.chunk, nil, r.nodes)
	return how
}

// tryShapes selects the shape that needs the fewest nodes, among the source's shapes of the lowest
// weight that could run the job.
func (p *planner) tryShapes(r *request, at int, from *nodeSource, most uint64) (placement, misfit) {
	best, worst := placement{shape: -1}, misfitFeatures
	v := make(amounts, amountGRES+len(p.gresNames))
	maxCPUs := p.partitions[at].maxCPUs
	for _, i := range from.shapes {
		s := &p.shapes[i]
		if !p.meets(r, i) || (best.shape >= 0 && s.weight > p.shapes[best.shape].weight) {
			continue
		}
		spread, f := p.spreadOver(r, v, s, maxCPUs, most)
		if r.cutsWholeNode(s, maxCPUs) {
			f = misfitWholeNode
		}
		if f == misfitNone && spread > saturating.Sub(p.maxNodesOfJobIn(at, from.pool), p.countExcluded(r, from.pool)) {
			f = misfitMaximum
		}
		if f != misfitNone {
			worst = max(worst, f)
			continue
		}
		how := placement{pool: from.pool, shape: i, chunk: v, nodesPerJob: spread,
			scattered: p.scatters(&r.requirements, s, most)}
		if how.scattered {
			r.perTask(v)
		}
		if !p.takesMemory {
			v[amountMemory] = 0
		}
		how.chunksPerEmptyNode = chunksOnEmptyNode(r, v, s, maxCPUs)
		if best.shape < 0 || s.weight < p.shapes[best.shape].weight || how.isCheaperThan(best, r.tasks) {
			best, v = how, make(amounts, len(v))
		}
	}
	if best.shape < 0 {
		return placement{}, worst
	}
	return best, misfitNone
}

// maxNodesOfJobIn returns the maximum number of nodes of one job in the partition when the new ones
// come from the pool: the Max of the pool plus the usable nodes outside all pools. Where there are
// pools, the other nodes do not grow.
func (p *planner) maxNodesOfJobIn(at, pool int) uint64 {
	pt := &p.partitions[at]
	switch {
	case pool == noPool && len(pt.sources) > 1:
		return pt.otherNodes
	case pool == noPool || p.pools[pool].spec.Max == 0:
		return math.MaxUint64
	}
	return saturating.Add(p.pools[pool].spec.Max, pt.nodesOutsidePools)
}

// countExcluded returns how many of the pool's workers the request's jobs exclude. Existing or not,
// they count towards the Max of the pool.
func (p *planner) countExcluded(r *request, pool int) (count uint64) {
	if pool == noPool || p.pools[pool].spec.Max == 0 {
		return 0
	}
	for name := range r.excludedNodes {
		if ordinal, ok := p.pools[pool].spec.ordinalOf(name); ok && ordinal < p.pools[pool].spec.Max {
			count++
		}
	}
	return count
}

// tryWorker returns why the job cannot have the named future worker.
func (p *planner) tryWorker(r *request, part int, name string) misfit {
	for at := range p.pools {
		of := &p.pools[at]
		ordinal, ok := of.spec.ordinalOf(name)
		if !ok {
			continue
		}
		if of.spec.Max > 0 && ordinal >= of.spec.Max {
			return misfitMaximum
		}
		if len(of.partitions) > 0 && !slices.Contains(of.partitions, part) {
			return misfitForeign
		}
		if len(of.shapes) == 1 && !p.meets(r, of.shapes[0]) {
			return misfitFeatures
		}
		return misfitNone
	}
	return misfitNone
}

// isCheaperThan reports whether a job with that many tasks uses a smaller share of its nodes.
func (a placement) isCheaperThan(b placement, tasks uint64) bool {
	return saturating.Mul(a.chunkCount(tasks), b.chunksPerEmptyNode) < saturating.Mul(b.chunkCount(tasks),
		a.chunksPerEmptyNode)
}

// chunkCount returns the number of chunks of a job with that many tasks.
func (a placement) chunkCount(tasks uint64) uint64 {
	if a.scattered {
		return tasks
	}
	return a.nodesPerJob
}

// minNodes returns the minimum number of nodes of a job with that many tasks.
func (a placement) minNodes(tasks uint64) uint64 {
	if a.scattered {
		return divideUp(tasks, max(a.chunksPerEmptyNode, 1))
	}
	return a.nodesPerJob
}

func chunksOnEmptyNode(r *request, v amounts, s *shape, maxCPUs uint64) uint64 {
	if r.exclusive || s.oneJobPerNode {
		return 1
	}
	n := s.room.fits(v)
	if maxCPUs > 0 {
		n = min(n, max(1, maxCPUs/v[amountCPUs]))
	}
	return n
}

// spreadOver finds the minimum number of nodes of the shape for the job, and leaves in v what the
// job allocates on each.
func (p *planner) spreadOver(r *request, v amounts, s *shape, maxCPUs, most uint64) (uint64, misfit) {
	try := func(nodes uint64) misfit {
		p.perNode(&r.requirements, v, s, nodes)
		return misfitOf(v, s.room, maxCPUs)
	}
	if try(r.nodes) == misfitNone {
		return r.nodes, misfitNone
	}
	if f := try(most); f != misfitNone {
		return 0, p.misfitOfSpread(r, v, s, maxCPUs, f)
	}
	low, high := r.nodes, most // low nodes are too few, high nodes are enough
	for low+1 < high {
		if mid := low + (high-low)/2; try(mid) == misfitNone {
			high = mid
		} else {
			low = mid
		}
	}
	try(high)
	return high, misfitNone
}

// misfitOfSpread distinguishes a job that no number of nodes would help from one that is not
// allowed enough nodes.
func (p *planner) misfitOfSpread(r *request, v amounts, s *shape, maxCPUs uint64, f misfit) misfit {
	spread := r.cpus
	if r.tasks > 0 {
		spread = r.tasks
	}
	p.perNode(&r.requirements, v, s, max(spread, r.nodes))
	if misfitOf(v, s.room, maxCPUs) == misfitNone {
		return misfitNodes
	}
	return f
}

// tryNamedNodes places a job that names nodes. Existing nodes must be in the partition and large
// enough for a chunk of the job when it is spread as far as possible; missing ones are trusted to
// be. Named nodes belong to their own pools, and the source only provides the others.
func (p *planner) tryNamedNodes(r *request, at int, from *nodeSource, most uint64) (placement, misfit) {
	how, least := p.placeOnUnknownNodes(r), make(amounts, amountGRES+len(p.gresNames))
	how.pool = from.pool
	named, missing, short := uint64(len(r.requiredNodes)), false, false
	for _, name := range r.requiredNodes {
		m, there := p.findNode(name)
		if !there || m.use == useOff {
			if f := p.tryWorker(r, at, name); f != misfitNone {
				return placement{}, f
			}
			missing = true
			continue
		}
		if !slices.Contains(m.node.Partitions, p.partitions[at].Name) {
			return placement{}, misfitForeign
		}
		s := &p.shapes[m.shape]
		if !p.meets(r, m.shape) {
			return placement{}, misfitFeatures
		}
		maxCPUs := p.partitions[at].maxCPUs
		p.perNode(&r.requirements, least, s, most)
		if f := misfitOf(least, s.room, maxCPUs); f != misfitNone {
			return placement{}, f
		}
		if r.cutsWholeNode(s, maxCPUs) {
			return placement{}, misfitWholeNode
		}
		short = short || misfitOf(how.chunk, s.room, maxCPUs) != misfitNone
	}
	if how.nodesPerJob > p.maxNodesOfJobIn(at, from.pool) {
		return placement{}, misfitMaximum
	}
	if len(from.shapes) == 0 || r.nodes <= named && !short && !missing {
		return how, misfitNone
	}
	with, f := p.tryShapes(r, at, from, most)
	switch {
	case f != misfitNone && missing && r.nodes <= named && !short:
		return how, misfitNone
	case f != misfitNone:
		return placement{}, f
	case short:
		with.nodesPerJob = max(with.nodesPerJob, named+1)
	}
	return with, misfitNone
}

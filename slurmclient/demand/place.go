package demand

import (
	"math"
	"slices"
)

// placement is how a job would run on new nodes.
type placed struct {
	// pool is the index of the pool of the nodes, or noPool.
	pool int
	// shape is the shape of the nodes, -1 when the partition does not show it. Each node then has
	// one job.
	shape int
	// chunk is what the job allocates on each of nodesPerJob nodes. chunksPerEmptyNode chunks fit
	// on an empty node.
	each             amounts
	spread, perEmpty uint64
	// scattered is whether each chunk is one task, any number of which can share a node.
	scattered bool
}

// sourcePosition is an index in the partitions of a request, and in the sources of that partition.
type spot struct{ part, source int }

// placeFrom returns how a partition of the request could run its jobs: by the first source from the
// position on that could run them and is not full.
func (p *plan) tryFrom(r *request, from spot) (placed, spot, fault) {
	at := r.parts[from.part]
	worst := faultNone
	for n := len(p.parts[at].sources); from.source < n; from.source++ {
		source := &p.parts[at].sources[from.source]
		if source.pool != noPool && p.pools[source.pool].full {
			continue
		}
		how, f := p.trySource(r, at, source)
		if f == faultNone {
			return how, from, f
		}
		worst = max(worst, f)
	}
	return placed{}, from, worst
}

// nextAssignment finds the first assignment after the current one: another pool that could run the
// request's jobs. The number of nodes outside pools is fixed.
func (p *plan) next(r *request) (option, bool) {
	if len(p.pools) == 0 || len(r.required) > 0 {
		return option{}, false
	}
	to := spot{r.from.part, r.from.source + 1}
	for ; to.part < len(r.parts); to = (spot{part: to.part + 1}) {
		at := r.parts[to.part]
		if r.faults[to.part] != faultNone || to.source == len(p.parts[at].sources) {
			continue
		}
		if how, from, f := p.tryFrom(r, to); f == faultNone && from.source < len(p.parts[at].sources) &&
			how.pool != noPool {
			return option{at, how, from}, true
		}
	}
	return option{}, false
}

// trySource returns how new nodes of the source could run the request's jobs in the partition.
func (p *plan) trySource(r *request, at int, from *source) (placed, fault) {
	pt := &p.parts[at]
	if !pt.open {
		return placed{}, faultClosed
	}
	if !r.readable {
		return placed{}, faultUnreadable
	}
	if r.cutsTasks(pt.maxCPUs) {
		return placed{}, faultTasks
	}
	if p.fillsNodes && r.tasks == 1 && r.tasksPerNode > 1 && !r.whole {
		return placed{}, faultTasks // slurmctld searches room for all tasks, and allocates that of one
	}
	most := r.most(p.nodeLimit(r, at))
	if most < r.nodes {
		return placed{}, faultNodes
	}
	if len(r.required) > 0 {
		return p.tryRequired(r, at, from, most)
	}
	if len(from.shapes) == 0 {
		return p.unseen(r), faultNone
	}
	return p.tryShapes(r, at, from, most)
}

// nodeLimit returns how many nodes the partition allows a job of the request; 0 for any number.
func (p *plan) nodeLimit(r *request, part int) uint64 {
	if r.anyNodes {
		return 0
	}
	return p.parts[part].maxNodes
}

// cutsTasks reports whether slurmctld would allocate CPUs on each node on which the tasks do not
// fit, because the partition limits CPUs per node. It counts CPUs, and starts no such job.
func (n *need) cutsTasks(maxCPUs uint64) bool {
	if maxCPUs == 0 || n.cpusPerTask <= 1 || n.cpusPerTask > maxCPUs || n.whole ||
		n.tasks*n.cpusPerTask <= maxCPUs {
		return false
	}
	full := n.cpus / maxCPUs
	return full*(maxCPUs/n.cpusPerTask)+n.cpus%maxCPUs/n.cpusPerTask < n.tasks
}

// cutsWholeNode reports whether the job requires whole nodes of the shape, and these have more CPUs
// than the partition allows on one node. slurmctld starts no such job.
func (n *need) cutsWhole(s *shape, maxCPUs uint64) bool {
	return n.whole && maxCPUs > 0 && !s.single && s.room[amountCPUs] > maxCPUs
}

// placeOnUnknownNodes places a job on nodes of unknown shape.
func (p *plan) unseen(r *request) placed {
	how := placed{pool: noPool, shape: -1, each: make(amounts, amountGRES+len(p.names)), spread: r.nodes,
		perEmpty: 1}
	p.perNode(&r.need, how.each, nil, r.nodes)
	return how
}

// tryShapes selects the shape that needs the fewest nodes, among the source's shapes of the lowest
// weight that could run the job.
func (p *plan) tryShapes(r *request, at int, from *source, most uint64) (placed, fault) {
	best, worst := placed{shape: -1}, faultFeatures
	v := make(amounts, amountGRES+len(p.names))
	maxCPUs := p.parts[at].maxCPUs
	for _, i := range from.shapes {
		s := &p.shapes[i]
		if !p.meets(r, i) || (best.shape >= 0 && s.weight > p.shapes[best.shape].weight) {
			continue
		}
		spread, f := p.spreadOver(r, v, s, maxCPUs, most)
		if r.cutsWhole(s, maxCPUs) {
			f = faultWhole
		}
		if f == faultNone && spread > less(p.maximum(at, from.pool), p.excludedOf(r, from.pool)) {
			f = faultMaximum
		}
		if f != faultNone {
			worst = max(worst, f)
			continue
		}
		how := placed{pool: from.pool, shape: i, each: v, spread: spread,
			scattered: p.scatters(&r.need, s, most)}
		if how.scattered {
			r.perTask(v)
		}
		if !p.takesMemory {
			v[amountMemory] = 0
		}
		how.perEmpty = perEmpty(r, v, s, maxCPUs)
		if best.shape < 0 || s.weight < p.shapes[best.shape].weight || how.cheaper(best, r.tasks) {
			best, v = how, make(amounts, len(v))
		}
	}
	if best.shape < 0 {
		return placed{}, worst
	}
	return best, faultNone
}

// maxNodesOfJobIn returns the maximum number of nodes of one job in the partition when the new ones
// come from the pool: the Max of the pool plus the usable nodes outside all pools. Where there are
// pools, the other nodes do not grow.
func (p *plan) maximum(at, pool int) uint64 {
	pt := &p.parts[at]
	switch {
	case pool == noPool && len(pt.sources) > 1:
		return pt.others
	case pool == noPool || p.pools[pool].offer.Max == 0:
		return math.MaxUint64
	}
	return plus(p.pools[pool].offer.Max, pt.beside)
}

// countExcluded returns how many of the pool's workers the request's jobs exclude. Existing or not,
// they count towards the Max of the pool.
func (p *plan) excludedOf(r *request, pool int) (count uint64) {
	if pool == noPool || p.pools[pool].offer.Max == 0 {
		return 0
	}
	for name := range r.excluded {
		if ordinal, ok := p.pools[pool].offer.ordinal(name); ok && ordinal < p.pools[pool].offer.Max {
			count++
		}
	}
	return count
}

// tryWorker returns why the job cannot have the named future worker.
func (p *plan) tryWorker(r *request, part int, name string) fault {
	for at := range p.pools {
		of := &p.pools[at]
		ordinal, ok := of.offer.ordinal(name)
		if !ok {
			continue
		}
		if of.offer.Max > 0 && ordinal >= of.offer.Max {
			return faultMaximum
		}
		if len(of.parts) > 0 && !slices.Contains(of.parts, part) {
			return faultForeign
		}
		if len(of.shapes) == 1 && !p.meets(r, of.shapes[0]) {
			return faultFeatures
		}
		return faultNone
	}
	return faultNone
}

// isCheaperThan reports whether a job with that many tasks uses a smaller share of its nodes.
func (a placed) cheaper(b placed, tasks uint64) bool {
	return times(a.pieces(tasks), b.perEmpty) < times(b.pieces(tasks),
		a.perEmpty)
}

// chunkCount returns the number of chunks of a job with that many tasks.
func (a placed) pieces(tasks uint64) uint64 {
	if a.scattered {
		return tasks
	}
	return a.spread
}

// minNodes returns the minimum number of nodes of a job with that many tasks.
func (a placed) leastNodes(tasks uint64) uint64 {
	if a.scattered {
		return share(tasks, max(a.perEmpty, 1))
	}
	return a.spread
}

func perEmpty(r *request, v amounts, s *shape, maxCPUs uint64) uint64 {
	if r.whole || s.single {
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
func (p *plan) spreadOver(r *request, v amounts, s *shape, maxCPUs, most uint64) (uint64, fault) {
	try := func(nodes uint64) fault {
		p.perNode(&r.need, v, s, nodes)
		return tooMuch(v, s.room, maxCPUs)
	}
	if try(r.nodes) == faultNone {
		return r.nodes, faultNone
	}
	if f := try(most); f != faultNone {
		return 0, p.limited(r, v, s, maxCPUs, f)
	}
	low, high := r.nodes, most // low nodes are too few, high nodes are enough
	for low+1 < high {
		if mid := low + (high-low)/2; try(mid) == faultNone {
			high = mid
		} else {
			low = mid
		}
	}
	try(high)
	return high, faultNone
}

// misfitOfSpread distinguishes a job that no number of nodes would help from one that is not
// allowed enough nodes.
func (p *plan) limited(r *request, v amounts, s *shape, maxCPUs uint64, f fault) fault {
	spread := r.cpus
	if r.tasks > 0 {
		spread = r.tasks
	}
	p.perNode(&r.need, v, s, max(spread, r.nodes))
	if tooMuch(v, s.room, maxCPUs) == faultNone {
		return faultNodes
	}
	return f
}

// tryNamedNodes places a job that names nodes. Existing nodes must be in the partition and large
// enough for a chunk of the job when it is spread as far as possible; missing ones are trusted to
// be. Named nodes belong to their own pools, and the source only provides the others.
func (p *plan) tryRequired(r *request, at int, from *source, most uint64) (placed, fault) {
	how, least := p.unseen(r), make(amounts, amountGRES+len(p.names))
	how.pool = from.pool
	named, missing, short := uint64(len(r.required)), false, false
	for _, name := range r.required {
		m, there := p.node(name)
		if !there || m.use == useOff {
			if f := p.tryWorker(r, at, name); f != faultNone {
				return placed{}, f
			}
			missing = true
			continue
		}
		if !slices.Contains(m.node.Partitions, p.parts[at].Name) {
			return placed{}, faultForeign
		}
		s := &p.shapes[m.shape]
		if !p.meets(r, m.shape) {
			return placed{}, faultFeatures
		}
		maxCPUs := p.parts[at].maxCPUs
		p.perNode(&r.need, least, s, most)
		if f := tooMuch(least, s.room, maxCPUs); f != faultNone {
			return placed{}, f
		}
		if r.cutsWhole(s, maxCPUs) {
			return placed{}, faultWhole
		}
		short = short || tooMuch(how.each, s.room, maxCPUs) != faultNone
	}
	if how.spread > p.maximum(at, from.pool) {
		return placed{}, faultMaximum
	}
	if len(from.shapes) == 0 || r.nodes <= named && !short && !missing {
		return how, faultNone
	}
	with, f := p.tryShapes(r, at, from, most)
	switch {
	case f != faultNone && missing && r.nodes <= named && !short:
		return how, faultNone
	case f != faultNone:
		return placed{}, f
	case short:
		with.spread = max(with.spread, named+1)
	}
	return with, faultNone
}

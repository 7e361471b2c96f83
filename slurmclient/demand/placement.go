package demand

import (
	"math"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
)

// placement is how a job would run on new nodes.
type placement struct {
	// pool is the index of the pool of the nodes, or NoPool.
	pool int
	// shape is the shape of the nodes, -1 when the partition does not show it. Each node then has
	// one job.
	shape int
	// chunk is what the job allocates on each of nodesPerJob nodes. chunksPerEmptyNode chunks fit
	// on an empty node.
	chunk                           model.Amounts
	nodesPerJob, chunksPerEmptyNode uint64
	// scattered is whether each chunk is one task, any number of which can share a node.
	scattered bool
}

// sourcePosition is an index in the partitions of a request, and in the sources of that partition.
type sourcePosition struct{ partition, source int }

// placeFrom returns how a partition of the request could run its jobs: by the first source from the
// position on that could run them and is not full.
func (p *planner) placeFrom(r *request, from sourcePosition) (placement, sourcePosition, model.Misfit) {
	at := r.partitions[from.partition]
	worst := model.MisfitNone
	for n := len(p.Partitions[at].Sources); from.source < n; from.source++ {
		source := &p.Partitions[at].Sources[from.source]
		if source.Pool != model.NoPool && p.Pools[source.Pool].Full {
			continue
		}
		how, f := p.trySource(r, at, source)
		if f == model.MisfitNone {
			return how, from, f
		}
		worst = max(worst, f)
	}
	return placement{}, from, worst
}

// nextAssignment finds the first assignment after the current one: another pool that could run the
// request's jobs. The number of nodes outside pools is fixed.
func (p *planner) nextAssignment(r *request) (assignment, bool) {
	if len(p.Pools) == 0 || len(r.RequiredNodes) > 0 {
		return assignment{}, false
	}
	to := sourcePosition{r.from.partition, r.from.source + 1}
	for ; to.partition < len(r.partitions); to = (sourcePosition{partition: to.partition + 1}) {
		at := r.partitions[to.partition]
		if r.misfits[to.partition] != model.MisfitNone || to.source == len(p.Partitions[at].Sources) {
			continue
		}
		if how, from, f := p.placeFrom(r, to); f == model.MisfitNone && from.source < len(p.Partitions[at].Sources) &&
			how.pool != model.NoPool {
			return assignment{at, how, from}, true
		}
	}
	return assignment{}, false
}

// trySource returns how new nodes of the source could run the request's jobs in the partition.
func (p *planner) trySource(r *request, at int, from *model.NodeSource) (placement, model.Misfit) {
	pt := &p.Partitions[at]
	if !pt.Open {
		return placement{}, model.MisfitClosed
	}
	if !r.Readable {
		return placement{}, model.MisfitUnreadable
	}
	if r.CutsTasks(pt.MaxCPUs) {
		return placement{}, model.MisfitTasks
	}
	if p.FillsNodes && r.Tasks == 1 && r.TasksPerNode > 1 && !r.Exclusive {
		return placement{}, model.MisfitTasks // slurmctld searches room for all tasks, and allocates that of one
	}
	most := r.MaxSpread(p.nodeLimit(r, at))
	if most < r.Nodes {
		return placement{}, model.MisfitNodes
	}
	if len(r.RequiredNodes) > 0 {
		return p.tryNamedNodes(r, at, from, most)
	}
	if len(from.Shapes) == 0 {
		return p.placeOnUnknownNodes(r), model.MisfitNone
	}
	return p.tryShapes(r, at, from, most)
}

// nodeLimit returns how many nodes the partition allows a job of the request; 0 for any number.
func (p *planner) nodeLimit(r *request, part int) uint64 {
	if r.AnyNodes {
		return 0
	}
	return p.Partitions[part].MaxNodes
}

// placeOnUnknownNodes places a job on nodes of unknown shape.
func (p *planner) placeOnUnknownNodes(r *request) placement {
	how := placement{pool: model.NoPool, shape: -1, chunk: make(model.Amounts, model.AmountGRES+len(p.GresNames)),
		nodesPerJob:        r.Nodes,
		chunksPerEmptyNode: 1}
	p.PerNode(&r.Requirements, how.chunk, nil, r.Nodes)
	return how
}

// tryShapes selects the shape that needs the fewest nodes, among the source's shapes of the lowest
// weight that could run the job.
func (p *planner) tryShapes(r *request, at int, from *model.NodeSource, most uint64) (placement, model.Misfit) {
	best, worst := placement{shape: -1}, model.MisfitFeatures
	v := make(model.Amounts, model.AmountGRES+len(p.GresNames))
	maxCPUs := p.Partitions[at].MaxCPUs
	for _, i := range from.Shapes {
		s := &p.Shapes[i]
		if !p.meets(r, i) || (best.shape >= 0 && s.Weight > p.Shapes[best.shape].Weight) {
			continue
		}
		spread, f := p.spreadOver(r, v, s, maxCPUs, most)
		if r.CutsWholeNode(s, maxCPUs) {
			f = model.MisfitWholeNode
		}
		if f == model.MisfitNone && spread > saturating.Sub(p.maxNodesOfJobIn(at, from.Pool),
			p.countExcluded(r, from.Pool)) {
			f = model.MisfitMaximum
		}
		if f != model.MisfitNone {
			worst = max(worst, f)
			continue
		}
		how := placement{pool: from.Pool, shape: i, chunk: v, nodesPerJob: spread,
			scattered: p.Scatters(&r.Requirements, s, most)}
		if how.scattered {
			r.PerTask(v)
		}
		if !p.TakesMemory {
			v[model.AmountMemory] = 0
		}
		how.chunksPerEmptyNode = chunksOnEmptyNode(r, v, s, maxCPUs)
		if best.shape < 0 || s.Weight < p.Shapes[best.shape].Weight || how.isCheaperThan(best, r.Tasks) {
			best, v = how, make(model.Amounts, len(v))
		}
	}
	if best.shape < 0 {
		return placement{}, worst
	}
	return best, model.MisfitNone
}

// maxNodesOfJobIn returns the maximum number of nodes of one job in the partition when the new ones
// come from the pool: the Max of the pool plus the usable nodes outside all pools. Where there are
// pools, the other nodes do not grow.
func (p *planner) maxNodesOfJobIn(at, pool int) uint64 {
	pt := &p.Partitions[at]
	switch {
	case pool == model.NoPool && len(pt.Sources) > 1:
		return pt.OtherNodes
	case pool == model.NoPool || p.Pools[pool].Spec.Max == 0:
		return math.MaxUint64
	}
	return saturating.Add(p.Pools[pool].Spec.Max, pt.NodesOutsidePools)
}

// countExcluded returns how many of the pool's workers the request's jobs exclude. Existing or not,
// they count towards the Max of the pool.
func (p *planner) countExcluded(r *request, pool int) uint64 {
	if r.ExcludedNodes == nil || pool == model.NoPool || p.Pools[pool].Spec.Max == 0 {
		return 0
	}
	if p.namedWorkers == nil {
		p.namedWorkers = p.nodeNames.WorkersByPool(p.Pools)
	}
	return r.ExcludedNodes.CountOf(p.namedWorkers[pool])
}

// tryWorker returns why the job cannot have the named future worker.
func (p *planner) tryWorker(r *request, part int, name string) model.Misfit {
	for at := range p.Pools {
		of := &p.Pools[at]
		ordinal, ok := of.Spec.OrdinalOf(name)
		if !ok {
			continue
		}
		if of.Spec.Max > 0 && ordinal >= of.Spec.Max {
			return model.MisfitMaximum
		}
		if len(of.Partitions) > 0 && !slices.Contains(of.Partitions, part) {
			return model.MisfitForeign
		}
		if len(of.Shapes) == 1 && !p.meets(r, of.Shapes[0]) {
			return model.MisfitFeatures
		}
		return model.MisfitNone
	}
	return model.MisfitNone
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
		return model.DivideUp(tasks, max(a.chunksPerEmptyNode, 1))
	}
	return a.nodesPerJob
}

func chunksOnEmptyNode(r *request, v model.Amounts, s *model.NodeShape, maxCPUs uint64) uint64 {
	if r.Exclusive || s.OneJobPerNode {
		return 1
	}
	n := s.Room.Fits(v)
	if maxCPUs > 0 {
		n = min(n, max(1, maxCPUs/v[model.AmountCPUs]))
	}
	return n
}

// spreadOver finds the minimum number of nodes of the shape for the job, and leaves in v what the
// job allocates on each.
func (p *planner) spreadOver(r *request, v model.Amounts, s *model.NodeShape, maxCPUs, most uint64) (
	uint64, model.Misfit) {
	try := func(nodes uint64) model.Misfit {
		p.PerNode(&r.Requirements, v, s, nodes)
		return model.MisfitOf(v, s.Room, maxCPUs)
	}
	if try(r.Nodes) == model.MisfitNone {
		return r.Nodes, model.MisfitNone
	}
	if f := try(most); f != model.MisfitNone {
		return 0, p.misfitOfSpread(r, v, s, maxCPUs, f)
	}
	low, high := r.Nodes, most // low nodes are too few, high nodes are enough
	for low+1 < high {
		if mid := low + (high-low)/2; try(mid) == model.MisfitNone {
			high = mid
		} else {
			low = mid
		}
	}
	try(high)
	return high, model.MisfitNone
}

// misfitOfSpread distinguishes a job that no number of nodes would help from one that is not
// allowed enough nodes.
func (p *planner) misfitOfSpread(r *request, v model.Amounts, s *model.NodeShape, maxCPUs uint64,
	f model.Misfit) model.Misfit {
	spread := r.CPUs
	if r.Tasks > 0 {
		spread = r.Tasks
	}
	p.PerNode(&r.Requirements, v, s, max(spread, r.Nodes))
	if model.MisfitOf(v, s.Room, maxCPUs) == model.MisfitNone {
		return model.MisfitNodes
	}
	return f
}

// tryNamedNodes places a job that names nodes. Existing nodes must be in the partition and large
// enough for a chunk of the job when it is spread as far as possible; missing ones are trusted to
// be. Named nodes belong to their own pools, and the source only provides the others.
func (p *planner) tryNamedNodes(r *request, at int, from *model.NodeSource, most uint64) (placement, model.Misfit) {
	how, least := p.placeOnUnknownNodes(r), make(model.Amounts, model.AmountGRES+len(p.GresNames))
	how.pool = from.Pool
	named, missing, short := uint64(len(r.RequiredNodes)), false, false
	for _, name := range r.RequiredNodes {
		m, there := p.findNode(name)
		if !there || m.Use == model.UseOff {
			if f := p.tryWorker(r, at, name); f != model.MisfitNone {
				return placement{}, f
			}
			missing = true
			continue
		}
		if !slices.Contains(m.Node.Partitions, p.Partitions[at].Name) {
			return placement{}, model.MisfitForeign
		}
		s := &p.Shapes[m.Shape]
		if !p.meets(r, m.Shape) {
			return placement{}, model.MisfitFeatures
		}
		maxCPUs := p.Partitions[at].MaxCPUs
		p.PerNode(&r.Requirements, least, s, most)
		if f := model.MisfitOf(least, s.Room, maxCPUs); f != model.MisfitNone {
			return placement{}, f
		}
		if r.CutsWholeNode(s, maxCPUs) {
			return placement{}, model.MisfitWholeNode
		}
		short = short || model.MisfitOf(how.chunk, s.Room, maxCPUs) != model.MisfitNone
	}
	if how.nodesPerJob > p.maxNodesOfJobIn(at, from.Pool) {
		return placement{}, model.MisfitMaximum
	}
	if len(from.Shapes) == 0 || r.Nodes <= named && !short && !missing {
		return how, model.MisfitNone
	}
	with, f := p.tryShapes(r, at, from, most)
	switch {
	case f != model.MisfitNone && missing && r.Nodes <= named && !short:
		return how, model.MisfitNone
	case f != model.MisfitNone:
		return placement{}, f
	case short:
		with.nodesPerJob = max(with.nodesPerJob, named+1)
	}
	return with, model.MisfitNone
}

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
	// chunk is a job's allocation on each of nodesPerJob nodes. chunksPerEmptyNode chunks fit on an empty node.
	chunk                           model.Amounts
	nodesPerJob, chunksPerEmptyNode uint64
	// scattered is whether each chunk is one task, any number of which can share a node.
	scattered bool
}

// sourcePosition is an index in the partitions of a request, and in the sources of that partition.
type sourcePosition struct{ partition, source int }

// nextAssignment finds the first assignment after the current one: another pool that could run the
// request's jobs. The number of nodes outside pools is fixed.
func (p *planner) nextAssignment(r *request) (assignment, bool) {
	if len(p.Pools) == 0 || len(r.RequiredNodes) > 0 {
		return assignment{}, false
	}
	to := sourcePosition{r.from.partition, r.from.source + 1}
	for ; to.partition < len(r.partitions); to = (sourcePosition{partition: to.partition + 1}) {
		at := r.partitions[to.partition]
		if r.misfits[to.partition] != model.MisfitNone {
			continue
		}
		if how, source, f := p.firstSource(r, at, to.source); f == model.MisfitNone && source < len(p.Partitions[at].Sources) &&
			how.pool != model.NoPool {
			return assignment{at, how, sourcePosition{to.partition, source}}, true
		}
	}
	return assignment{}, false
}

// trySource returns how new nodes of the source could run the request's jobs in the partition.
func (p *planner) trySource(r *request, at int, from *model.NodeSource) (placement, model.Misfit) {
	if f := p.misfitOfPartition(r, at); f != model.MisfitNone {
		return placement{}, f
	}
	most := r.MaxSpread(p.nodeLimit(r, at))
	if len(r.RequiredNodes) > 0 {
		return p.tryNamedNodes(r, at, from, most)
	}
	if len(from.Shapes) == 0 {
		return p.placeOnUnknownNodes(r), model.MisfitNone
	}
	return p.tryShapes(r, at, from, most)
}

// misfitOfPartition returns why the request's jobs cannot run in the partition, whatever its nodes.
func (p *planner) misfitOfPartition(r *request, at int) model.Misfit {
	pt := &p.Partitions[at]
	switch {
	case !pt.Open:
		return model.MisfitClosed
	case !r.Readable:
		return model.MisfitUnreadable
	case r.CutsTasks(pt.MaxCPUs):
		return model.MisfitTasks
	case p.FillsNodes && r.Tasks == 1 && r.TasksPerNode > 1 && !r.Exclusive:
		return model.MisfitTasks // slurmctld searches room for all tasks, and allocates the room of one
	case r.MaxSpread(p.nodeLimit(r, at)) < r.Nodes:
		return model.MisfitNodes
	}
	return model.MisfitNone
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
	best, bestShape, worst := (*spread)(nil), -1, model.MisfitFeatures
	maxCPUs := p.Partitions[at].MaxCPUs
	p.work.spend(len(from.Shapes))
	for _, i := range from.Shapes {
		s := &p.Shapes[i]
		if !p.meets(r, i) || (best != nil && s.Weight > p.Shapes[bestShape].Weight) {
			continue
		}
		on := p.spreadOn(r, i, maxCPUs, most)
		f := on.misfit
		if f == model.MisfitNone && on.nodesPerJob > p.maxNodesFor(r, at, from.Pool) {
			f = model.MisfitMaximum
		}
		if f != model.MisfitNone {
			worst = max(worst, f)
			continue
		}
		if best == nil || s.Weight < p.Shapes[bestShape].Weight || on.isCheaperThan(best.placement, r.Tasks) {
			best, bestShape = on, i
		}
	}
	if best == nil {
		return placement{}, worst
	}
	how := best.placement
	how.pool, how.shape, how.chunk = from.Pool, bestShape, slices.Clone(best.chunk)
	return how, model.MisfitNone
}

// maxNodesFor returns the maximum number of nodes of a job of the request in the partition when the new ones come from the pool.
func (p *planner) maxNodesFor(r *request, at, pool int) uint64 {
	return saturating.Sub(p.maxNodesOfJobIn(at, pool), p.countExcluded(r, pool))
}

// maxNodesOfJobIn returns the maximum number of nodes of one job in the partition if its new nodes come from the pool. It is the Max of the
// pool plus the usable nodes outside all pools. If the partition has pools, the other nodes do not grow.
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
	p.work.spend(len(p.Pools))
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
		p.work.spend(stepsPerSpread)
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

// misfitOfSpread distinguishes two jobs: one that no number of nodes would help, and one that may not use enough nodes.
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

// tryNamedNodes places a job that names nodes. Existing nodes must be in the partition and large enough for a chunk of the job when it is
// spread as far as possible. Missing nodes are assumed to be. Named nodes belong to their own pools, and the source only provides the
// others.
func (p *planner) tryNamedNodes(r *request, at int, from *model.NodeSource, most uint64) (placement, model.Misfit) {
	how, least := p.placeOnUnknownNodes(r), make(model.Amounts, model.AmountGRES+len(p.GresNames))
	how.pool = from.Pool
	named, missing, short := uint64(len(r.RequiredNodes)), false, false
	p.work.spend(stepsPerName * len(r.RequiredNodes))
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

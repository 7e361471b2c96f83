package demand

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
)

// planner finds the nodes that groups of alike jobs need.
type planner struct {
	*model.Cluster
	model.Selection
	work     *workBudget
	groups   []*model.JobGroup
	requests []request
	// nodeByName has the index of every node, if jobs name any.
	nodeByName map[string]int
	// nodeNames are the names in the jobs' node lists. namedWorkers are the IDs of the workers' names by pool, nil until needed.
	nodeNames    *model.NodeNames
	namedWorkers [][]int32
	// kinds has the kind of every shape (see spread). spreads are the last answers by kind.
	kinds   []int
	spreads []spread
	filters map[filterKey]*shapeFilter
	// alikeNodes are the nodes of the partitions' sources, nil until needed, see alikeNodesOf.
	alikeNodes [][][]nodesOfSource
	// lastGuess are the nodes of each partition on which a job last fit, nil until needed, see guessSource. largest are the largest
	// nodes of each partition, nil until needed.
	lastGuess []sourceShape
	largest   []*largestNodes
	// poolSources has the sources of the partitions by pool, nil until needed, see sourcesOfPool.
	poolSources []map[int][]int
	// hasThreads is whether some nodes have several CPUs per core. limitsNodes is whether a limit counts nodes. enforcementUnknown is
	// whether nothing shows that limits are enforced.
	hasThreads, limitsNodes, enforcementUnknown bool
}

// request is a group of jobs that more nodes would help.
type request struct {
	*model.JobGroup
	model.Requirements
	// jobs is how many jobs of the group it includes.
	jobs       uint64
	partitions []int
	// misfits are, for each of partitions, why the jobs cannot run there.
	misfits []model.Misfit
	assignment
	// hetMisfit is why a heterogeneous job cannot run although this component could.
	hetMisfit model.Misfit
	// filter caches meets, nil when every shape is accepted.
	filter *shapeFilter
	// freeNode and chunksOnFreeNode count the chunks on the current free node, see bin.moveChunks.
	freeNode, chunksOnFreeNode uint64
}

// assignment is where a request's jobs request nodes: in the partition target, -1 for none, with a
// placement. from is the position of the source.
type assignment struct {
	target int
	placement
	from sourcePosition
}

// newPlanner parses what the eligible groups request.
func newPlanner(work *workBudget, s *slurmclient.Snapshot, c *model.Cluster, groups []*model.JobGroup) *planner {
	p := &planner{Cluster: c, work: work, groups: groups, nodeNames: model.NewNodeNames(), filters: map[filterKey]*shapeFilter{},
		Selection: model.Selection{ParsedGRES: map[string]map[string]uint64{}}}
	p.ReadSelection(s)
	names := map[string]bool{}
	p.requests = make([]request, 0, len(groups))
	for _, g := range groups {
		if g.Class != pending.ClassCapacity {
			continue
		}
		if p.work.spend(1); p.work.isCanceled() {
			break
		}
		r := request{JobGroup: g, jobs: g.Jobs, Requirements: model.ParseRequirements(&g.JobSpec, p.nodeNames),
			partitions: c.PartitionsOf(g.Partition), assignment: assignment{target: -1}}
		if p.GuessesNodes {
			r.DropGuessedMaximum()
		}
		if r.TooManyNames {
			r.Deviations |= model.NamesTooMany
		}
		r.filter = p.filterOf(&r)
		for name := range r.GresPerNode {
			names[name] = true
		}
		for name := range r.GresPerJob {
			names[name] = true
		}
		for name := range r.GresPerTask {
			names[name] = true
		}
		p.requests = append(p.requests, r)
	}
	p.GresNames = slices.Sorted(maps.Keys(names))
	for i := range c.Shapes {
		p.hasThreads = p.hasThreads || c.Shapes[i].Threads > 1
		c.Shapes[i].Room = p.RoomOf(&c.Shapes[i])
	}
	p.indexKinds()
	p.indexNodes()
	return p
}

// indexNodes indexes nodes by name if a job names any.
func (p *planner) indexNodes() {
	for i := range p.requests {
		if len(p.requests[i].RequiredNodes) == 0 {
			continue
		}
		p.nodeByName = make(map[string]int, len(p.Nodes))
		for i, m := range p.Nodes {
			p.nodeByName[m.Node.Name] = i
		}
		return
	}
}

// findNode returns a node by name, if jobs name any.
func (p *planner) findNode(name string) (model.NodeState, bool) {
	i, ok := p.nodeByName[name]
	if !ok {
		return model.NodeState{}, false
	}
	return p.Nodes[i], true
}

// assignRequests assigns every request to the first partition of its list that could run it, and
// there to the first source that could.
func (p *planner) assignRequests() {
	hets := map[uint32]model.Misfit{}
	for i := range p.requests {
		r := &p.requests[i]
		if p.work.isCanceled() {
			return
		}
		r.misfits = make([]model.Misfit, len(r.partitions))
		for k := range r.partitions {
			how, source, f := p.findSource(r, r.partitions[k])
			r.misfits[k] = f
			if f == model.MisfitNone && r.target < 0 {
				r.assignment = assignment{r.partitions[k], how, sourcePosition{k, source}}
			}
		}
		if r.HetJobID != 0 && r.target < 0 {
			hets[r.HetJobID] = model.MisfitComponent
		}
	}
	p.findOversizedHets(hets)
	for i := range p.requests {
		if r := &p.requests[i]; r.HetJobID != 0 && hets[r.HetJobID] != model.MisfitNone {
			r.target, r.hetMisfit = -1, hets[r.HetJobID]
			for k := range r.misfits {
				r.misfits[k] = cmp.Or(r.misfits[k], r.hetMisfit)
			}
		}
		r := &p.requests[i]
		r.CanRun = r.target >= 0
		r.WaitsForBusyNodes = r.CanRun && p.requiresBusyNodes(r)
		if slices.ContainsFunc(r.partitions, func(at int) bool { return r.CutsTasks(p.Partitions[at].MaxCPUs) }) {
			r.Deviations |= model.HasCutTasks
		}
		if slices.ContainsFunc(r.partitions, func(at int) bool { return p.Partitions[at].Shared }) {
			r.Deviations |= model.SharesCores
		}
		p.measureFootprint(r)
		// slurmctld can also spread tasks that would fit on one node.
		spreads := r.nodesPerJob > 1 || r.scattered || r.Tasks > 1 && r.TasksPerNode > 0
		if r.CanRun && r.SpreadsGRES && spreads || !r.CanRun && strings.Contains(r.TresPerJob, "gres") {
			r.Deviations |= model.HasSpreadGRES
		}
	}
}

// measureFootprint records the minimum that a job of the request allocates on nodes that could run
// it: whole cores, whole nodes, or room for more tasks than it requests. It records nothing where
// the nodes are unknown, or where no limit counts it.
func (p *planner) measureFootprint(r *request) {
	counts := p.limitsNodes || r.Exclusive || p.FillsNodes && r.TasksPerNode > 0 || p.WholeCores && p.hasThreads
	if r.target < 0 || !counts || p.work.isSpent() {
		return
	}
	takes := model.Footprint{CPUs: math.MaxUint64, Nodes: math.MaxUint64}
	for k, at := range r.partitions {
		if r.misfits[k] != model.MisfitNone {
			continue
		}
		most := r.MaxSpread(p.nodeLimit(r, at))
		for _, alike := range p.alikeNodesOf(at) {
			p.work.spend(1)
			s := &p.Shapes[alike[0].shape]
			on := p.spreadOn(r, alike[0].shape, p.Partitions[at].MaxCPUs, most)
			if on.misfit != model.MisfitNone || !slices.ContainsFunc(alike, func(n nodesOfSource) bool {
				p.work.spend(1)
				return p.meets(r, n.shape) && on.nodesPerJob <= p.maxNodesFor(r, at, n.pool)
			}) {
				continue
			}
			nodes := on.minNodes(r.Tasks)
			if r.Exclusive {
				takes.GRES = minGRES(takes.GRES, p.ParseGRES(s.GresText()), nodes)
			}
			takes.CPUs, takes.Nodes = min(takes.CPUs, p.cpusOn(r, s)), min(takes.Nodes, nodes)
			takes.CPUsOfNode = max(takes.CPUsOfNode, s.Room[model.AmountCPUs])
		}
	}
	if takes.CPUsOfNode > 0 {
		r.Footprint = takes
	}
}

// minGRES returns, per generic resource, the lesser of what a job gets elsewhere, nil for unknown,
// and what that many nodes have.
func minGRES(elsewhere, ofNode map[string]uint64, nodes uint64) map[string]uint64 {
	out := map[string]uint64{}
	for name, count := range ofNode {
		count = saturating.Mul(count, nodes)
		if elsewhere != nil {
			count = min(count, elsewhere[name])
		}
		out[name] = count
	}
	return out
}

// cpusOn returns how many CPUs a job of the request allocates on nodes of the shape.
func (p *planner) cpusOn(r *request, s *model.NodeShape) uint64 {
	cpus := r.CPUs
	if p.WholeCores {
		cpus = max(s.WholeCores(cpus, r.ThreadsPerCore), p.cpusOfNodes(r, s))
	}
	if all := s.Room[model.AmountCPUs]; r.Exclusive && all > 0 {
		cpus = saturating.Mul(max(r.Nodes, model.DivideUp(cpus, all)), all)
	}
	return cpus
}

// cpusOfNodes returns the CPUs of the whole cores that a job of the request allocates at least on
// all of its nodes. slurmctld 24.11 spreads the tasks of a job with --ntasks-per-node evenly, so
// that some nodes have one task less than others; later releases allocate room for
// --ntasks-per-node tasks on every node.
func (p *planner) cpusOfNodes(r *request, s *model.NodeShape) uint64 {
	if r.TasksPerNode == 0 || p.FillsNodes {
		return saturating.Mul(r.Nodes, s.WholeCores(r.MinCPUs, r.ThreadsPerCore))
	}
	nodes := max(r.Nodes, 1)
	tasks := model.DivideUp(r.CPUs, r.CPUsPerTask)
	with := func(tasks uint64) uint64 {
		return s.WholeCores(min(r.MinCPUs, saturating.Mul(max(tasks, 1), r.CPUsPerTask)), r.ThreadsPerCore)
	}
	larger := tasks % nodes
	return saturating.Add(saturating.Mul(larger, with(tasks/nodes+1)), saturating.Mul(nodes-larger, with(tasks/nodes)))
}

// dropWithheldJobs removes from the requests the jobs that limits keep from running.
func (p *planner) dropWithheldJobs() {
	for i := range p.requests {
		p.requests[i].jobs = p.requests[i].CountAllowed()
	}
}

// hetPoolKey identifies the components of a heterogeneous job that request nodes in one pool.
type hetPoolKey struct {
	het  uint32
	pool int
}

// hetNodeSum is how many nodes the components need at once. Those with exclusive nodes add up.
type hetNodeSum struct {
	exclusive, shared, maximum uint64
	movable                    bool
}

// findOversizedHets finds heterogeneous jobs whose components fit separately, but together need
// more than the Max of the only pool that could run them.
func (p *planner) findOversizedHets(hets map[uint32]model.Misfit) {
	sums := map[hetPoolKey]hetNodeSum{}
	for i := range p.requests {
		r := &p.requests[i]
		if r.HetJobID == 0 || r.target < 0 {
			continue
		}
		sum := sums[hetPoolKey{r.HetJobID, r.pool}]
		if r.Exclusive {
			sum.exclusive = saturating.Add(sum.exclusive, saturating.Mul(r.jobs, r.nodesPerJob))
		} else {
			sum.shared = max(sum.shared, r.nodesPerJob)
		}
		sum.maximum = max(sum.maximum, p.maxNodesOfJobIn(r.target, r.pool))
		other := p.work.isSpent()
		if !other {
			_, other = p.nextAssignment(r)
		}
		sum.movable = sum.movable || other
		sums[hetPoolKey{r.HetJobID, r.pool}] = sum
	}
	for of, sum := range sums {
		if saturating.Add(sum.exclusive, sum.shared) > sum.maximum && !sum.movable {
			hets[of.het] = max(hets[of.het], model.MisfitMaximum)
		}
	}
}

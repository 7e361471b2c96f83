package demand

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
)

// planner finds the nodes that groups of alike jobs need.
type planner struct {
	*cluster
	selection
	groups   []*jobGroup
	requests []request
	// nodeByName has the index of every node, if jobs name any.
	nodeByName map[string]int
	// limitsNodes is whether a limit counts nodes. enforcementUnknown is whether nothing shows that
	// limits are enforced.
	limitsNodes, enforcementUnknown bool
}

// request is a group of jobs that more nodes would help.
type request struct {
	*jobGroup
	requirements
	// jobs is how many jobs of the group it includes.
	jobs       uint64
	partitions []int
	// misfits are, for each of partitions, why the jobs cannot run there.
	misfits []misfit
	assignment
	// hetMisfit is why a heterogeneous job cannot run although this component could.
	hetMisfit misfit
	// meetsByShape caches meets: 0 unknown, 1 yes, 2 no. nil when every shape is accepted.
	meetsByShape []uint8
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
func newPlanner(s *slurmclient.Snapshot, c *cluster, groups []*jobGroup) *planner {
	p := &planner{cluster: c, groups: groups, selection: selection{parsedGRES: map[string]map[string]uint64{}}}
	p.readSelection(s)
	names := map[string]bool{}
	for _, g := range groups {
		if g.class != pending.ClassCapacity {
			continue
		}
		r := request{jobGroup: g, jobs: g.jobs, requirements: parseRequirements(&g.jobSpec),
			partitions: c.partitionsOf(g.partition), assignment: assignment{target: -1}}
		if p.guessesNodes {
			r.dropGuessedMaximum()
		}
		if g.features != "" || r.tmpDisk > 0 {
			r.meetsByShape = make([]uint8, len(c.shapes))
		}
		for name := range r.gresPerNode {
			names[name] = true
		}
		for name := range r.gresPerJob {
			names[name] = true
		}
		for name := range r.gresPerTask {
			names[name] = true
		}
		p.requests = append(p.requests, r)
	}
	p.gresNames = slices.Sorted(maps.Keys(names))
	for i := range c.shapes {
		c.shapes[i].room = p.roomOf(&c.shapes[i])
	}
	p.indexNodes()
	return p
}

// indexNodes indexes nodes by name if a job names any.
func (p *planner) indexNodes() {
	for i := range p.requests {
		if len(p.requests[i].requiredNodes) == 0 {
			continue
		}
		p.nodeByName = make(map[string]int, len(p.nodes))
		for i, m := range p.nodes {
			p.nodeByName[m.node.Name] = i
		}
		return
	}
}

// findNode returns a node by name, if jobs name any.
func (p *planner) findNode(name string) (nodeInfo, bool) {
	i, ok := p.nodeByName[name]
	if !ok {
		return nodeInfo{}, false
	}
	return p.nodes[i], true
}

// assignRequests assigns every request to the first partition of its list that could run it, and
// there to the first source that could.
func (p *planner) assignRequests() {
	hets := map[uint32]misfit{}
	for i := range p.requests {
		r := &p.requests[i]
		r.misfits = make([]misfit, len(r.partitions))
		for k := range r.partitions {
			how, at, f := p.placeFrom(r, sourcePosition{partition: k})
			r.misfits[k] = f
			if f == misfitNone && r.target < 0 {
				r.assignment = assignment{r.partitions[k], how, at}
			}
		}
		if r.hetJobID != 0 && r.target < 0 {
			hets[r.hetJobID] = misfitComponent
		}
	}
	p.findOversizedHets(hets)
	for i := range p.requests {
		if r := &p.requests[i]; r.hetJobID != 0 && hets[r.hetJobID] != misfitNone {
			r.target, r.hetMisfit = -1, hets[r.hetJobID]
			for k := range r.misfits {
				r.misfits[k] = cmp.Or(r.misfits[k], r.hetMisfit)
			}
		}
		r := &p.requests[i]
		r.canRun = r.target >= 0
		if slices.ContainsFunc(r.partitions, func(at int) bool { return r.cutsTasks(p.partitions[at].maxCPUs) }) {
			r.deviations |= hasCutTasks
		}
		if slices.ContainsFunc(r.partitions, func(at int) bool { return p.partitions[at].shared }) {
			r.deviations |= sharesCores
		}
		p.measureFootprint(r)
		// slurmctld can also spread tasks that would fit on one node.
		spreads := r.nodesPerJob > 1 || r.scattered || r.tasks > 1 && r.tasksPerNode > 0
		if r.canRun && r.spreadsGRES && spreads || !r.canRun && strings.Contains(r.tresPerJob, "gres") {
			r.deviations |= hasSpreadGRES
		}
	}
}

// measureFootprint records the minimum that a job of the request allocates on nodes that could run
// it: whole cores, whole nodes, or room for more tasks than it requests. It records nothing where
// the nodes are unknown, or where no limit counts it.
func (p *planner) measureFootprint(r *request) {
	threaded := func(s shape) bool { return s.threads > 1 }
	counts := p.limitsNodes || r.exclusive || p.fillsNodes && r.tasksPerNode > 0 || p.wholeCores &&
		slices.ContainsFunc(p.shapes, threaded)
	if r.target < 0 || !counts {
		return
	}
	takes := footprint{cpus: math.MaxUint64, nodes: math.MaxUint64}
	for k, at := range r.partitions {
		if r.misfits[k] != misfitNone {
			continue
		}
		for _, from := range p.partitions[at].sources {
			for _, shape := range from.shapes {
				one := nodeSource{from.pool, []int{shape}}
				how, f := p.tryShapes(r, at, &one, r.maxSpread(p.nodeLimit(r, at)))
				if f != misfitNone {
					continue
				}
				s := &p.shapes[shape]
				nodes := how.minNodes(r.tasks)
				if r.exclusive {
					takes.gres = minGRES(takes.gres, p.parseGRES(s.gresText()), nodes)
				}
				takes.cpus, takes.nodes = min(takes.cpus, p.cpusOn(r, s)), min(takes.nodes, nodes)
				takes.cpusOfNode = max(takes.cpusOfNode, s.room[amountCPUs])
			}
		}
	}
	if takes.cpusOfNode > 0 {
		r.footprint = takes
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
func (p *planner) cpusOn(r *request, s *shape) uint64 {
	cpus := r.cpus
	if p.wholeCores {
		cpus = max(s.wholeCores(cpus, r.threadsPerCore), p.cpusOfNodes(r, s))
	}
	if all := s.room[amountCPUs]; r.exclusive && all > 0 {
		cpus = saturating.Mul(max(r.nodes, divideUp(cpus, all)), all)
	}
	return cpus
}

// cpusOfNodes returns the CPUs of the whole cores that a job of the request allocates at least on
// all of its nodes. slurmctld 24.11 spreads the tasks of a job with --ntasks-per-node evenly, so
// that some nodes have one task less than others; later releases allocate room for
// --ntasks-per-node tasks on every node.
func (p *planner) cpusOfNodes(r *request, s *shape) uint64 {
	if r.tasksPerNode == 0 || p.fillsNodes {
		return saturating.Mul(r.nodes, s.wholeCores(r.minCPUs, r.threadsPerCore))
	}
	nodes := max(r.nodes, 1)
	tasks := divideUp(r.cpus, r.cpusPerTask)
	with := func(tasks uint64) uint64 {
		return s.wholeCores(min(r.minCPUs, saturating.Mul(max(tasks, 1), r.cpusPerTask)), r.threadsPerCore)
	}
	larger := tasks % nodes
	return saturating.Add(saturating.Mul(larger, with(tasks/nodes+1)), saturating.Mul(nodes-larger, with(tasks/nodes)))
}

// dropWithheldJobs removes from the requests the jobs that limits keep from running.
func (p *planner) dropWithheldJobs() {
	for i := range p.requests {
		p.requests[i].jobs = p.requests[i].countAllowed()
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
func (p *planner) findOversizedHets(hets map[uint32]misfit) {
	sums := map[hetPoolKey]hetNodeSum{}
	for i := range p.requests {
		r := &p.requests[i]
		if r.hetJobID == 0 || r.target < 0 {
			continue
		}
		sum := sums[hetPoolKey{r.hetJobID, r.pool}]
		if r.exclusive {
			sum.exclusive = saturating.Add(sum.exclusive, saturating.Mul(r.jobs, r.nodesPerJob))
		} else {
			sum.shared = max(sum.shared, r.nodesPerJob)
		}
		sum.maximum = max(sum.maximum, p.maxNodesOfJobIn(r.target, r.pool))
		_, other := p.nextAssignment(r)
		sum.movable = sum.movable || other
		sums[hetPoolKey{r.hetJobID, r.pool}] = sum
	}
	for of, sum := range sums {
		if saturating.Add(sum.exclusive, sum.shared) > sum.maximum && !sum.movable {
			hets[of.het] = max(hets[of.het], misfitMaximum)
		}
	}
}

// meets is requirements.meets with a cache.
func (p *planner) meets(r *request, shape int) bool {
	if r.meetsByShape == nil {
		return r.readable
	}
	if r.meetsByShape[shape] == 0 {
		r.meetsByShape[shape] = 2
		if r.requirements.meets(&p.shapes[shape]) {
			r.meetsByShape[shape] = 1
		}
	}
	return r.meetsByShape[shape] == 1
}

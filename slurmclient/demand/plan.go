package demand

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// planner finds the nodes that groups of alike jobs need.
type plan struct {
	*cluster
	dims
	groups   []*group
	requests []request
	// nodeByName has the index of every node, if jobs name any.
	nodeByName map[string]int
	// limitsNodes is whether a limit counts nodes. enforcementUnknown is whether nothing shows that
	// limits are enforced.
	limitsNodes, doubtsLimits bool
}

// request is a group of jobs that more nodes would help.
type request struct {
	*group
	need
	// jobs is how many jobs of the group it includes.
	jobs  uint64
	parts []int
	// misfits are, for each of partitions, why the jobs cannot run there.
	faults []fault
	option
	// hetMisfit is why a heterogeneous job cannot run although this component could.
	broken fault
	// meetsByShape caches meets: 0 unknown, 1 yes, 2 no. nil when every shape is accepted.
	seen []uint8
	// freeNode and chunksOnFreeNode count the chunks on the current free node, see bin.moveChunks.
	bin, inBin uint64
}

// assignment is where a request's jobs request nodes: in the partition target, -1 for none, with a
// placement. from is the position of the source.
type option struct {
	target int
	placed
	from spot
}

// newPlanner parses what the eligible groups request.
func newPlan(s *slurmclient.Snapshot, c *cluster, groups []*group) *plan {
	p := &plan{cluster: c, groups: groups, dims: dims{parsed: map[string]map[string]uint64{}}}
	p.readSelection(s)
	names := map[string]bool{}
	for _, g := range groups {
		if g.class != ClassCapacity {
			continue
		}
		r := request{group: g, jobs: g.jobs, need: needOf(&g.ask),
			parts: c.partitionsOf(g.partition), option: option{target: -1}}
		if p.guessesNodes {
			r.forgetGuess()
		}
		if g.features != "" || r.tmpDisk > 0 {
			r.seen = make([]uint8, len(c.shapes))
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
	p.names = slices.Sorted(maps.Keys(names))
	for i := range c.shapes {
		c.shapes[i].room = p.roomOf(&c.shapes[i])
	}
	p.indexNodes()
	return p
}

// indexNodes indexes nodes by name if a job names any.
func (p *plan) indexNodes() {
	for i := range p.requests {
		if len(p.requests[i].required) == 0 {
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
func (p *plan) node(name string) (member, bool) {
	i, ok := p.nodeByName[name]
	if !ok {
		return member{}, false
	}
	return p.nodes[i], true
}

// assignRequests assigns every request to the first partition of its list that could run it, and
// there to the first source that could.
func (p *plan) satisfy() {
	hets := map[uint32]fault{}
	for i := range p.requests {
		r := &p.requests[i]
		r.faults = make([]fault, len(r.parts))
		for k := range r.parts {
			how, at, f := p.tryFrom(r, spot{part: k})
			r.faults[k] = f
			if f == faultNone && r.target < 0 {
				r.option = option{r.parts[k], how, at}
			}
		}
		if r.het != 0 && r.target < 0 {
			hets[r.het] = faultComponent
		}
	}
	p.measureHets(hets)
	for i := range p.requests {
		if r := &p.requests[i]; r.het != 0 && hets[r.het] != faultNone {
			r.target, r.broken = -1, hets[r.het]
			for k := range r.faults {
				r.faults[k] = cmp.Or(r.faults[k], r.broken)
			}
		}
		r := &p.requests[i]
		r.fits = r.target >= 0
		if slices.ContainsFunc(r.parts, func(at int) bool { return r.cutsTasks(p.parts[at].maxCPUs) }) {
			r.deviations |= isCut
		}
		if slices.ContainsFunc(r.parts, func(at int) bool { return p.parts[at].shared }) {
			r.deviations |= sharesCores
		}
		p.measureLeast(r)
		if r.fits && r.dealtGRES && (r.spread > 1 || r.scattered) || !r.fits &&
			strings.Contains(r.tresPerJob, "gres") {
			r.deviations |= dealsGRES
		}
	}
}

// measureFootprint records the minimum that a job of the request allocates on nodes that could run
// it: whole cores, whole nodes, or room for more tasks than it requests. It records nothing where
// the nodes are unknown, or where no limit counts it.
func (p *plan) measureLeast(r *request) {
	threaded := func(s shape) bool { return s.threads > 1 }
	counts := p.limitsNodes || r.whole || p.fillsNodes && r.tasksPerNode > 0 || p.wholeCores &&
		slices.ContainsFunc(p.shapes, threaded)
	if r.target < 0 || !counts {
		return
	}
	takes := footprint{cpus: math.MaxUint64, nodes: math.MaxUint64}
	for k, at := range r.parts {
		if r.faults[k] != faultNone {
			continue
		}
		for _, from := range p.parts[at].sources {
			for _, shape := range from.shapes {
				one := source{from.pool, []int{shape}}
				how, f := p.tryShapes(r, at, &one, r.most(p.nodeLimit(r, at)))
				if f != faultNone {
					continue
				}
				s := &p.shapes[shape]
				nodes := how.leastNodes(r.tasks)
				if r.whole {
					takes.gres = leastGRES(takes.gres, p.gres(s.gresText()), nodes)
				}
				takes.cpus, takes.nodes = min(takes.cpus, p.cpusOn(r, s)), min(takes.nodes, nodes)
				takes.ofNode = max(takes.ofNode, s.room[amountCPUs])
			}
		}
	}
	if takes.ofNode > 0 {
		r.takes = takes
	}
}

// minGRES returns, per generic resource, the lesser of what a job gets elsewhere, nil for unknown,
// and what that many nodes have.
func leastGRES(elsewhere, ofNode map[string]uint64, nodes uint64) map[string]uint64 {
	out := map[string]uint64{}
	for name, count := range ofNode {
		count = times(count, nodes)
		if elsewhere != nil {
			count = min(count, elsewhere[name])
		}
		out[name] = count
	}
	return out
}

// cpusOn returns how many CPUs a job of the request allocates on nodes of the shape.
func (p *plan) cpusOn(r *request, s *shape) uint64 {
	cpus := r.cpus
	if p.wholeCores {
		cpus = max(s.wholeCores(cpus, r.threadsPerCore), p.cpusOfNodes(r, s))
	}
	if all := s.room[amountCPUs]; r.whole && all > 0 {
		cpus = times(max(r.nodes, share(cpus, all)), all)
	}
	return cpus
}

// cpusOfNodes returns the CPUs of the whole cores that a job of the request allocates at least on
// all of its nodes. slurmctld 24.11 spreads the tasks of a job with --ntasks-per-node evenly, so
// that some nodes have one task less than others; later releases allocate room for
// --ntasks-per-node tasks on every node.
func (p *plan) cpusOfNodes(r *request, s *shape) uint64 {
	if r.tasksPerNode == 0 || p.fillsNodes {
		return times(r.nodes, s.wholeCores(r.minCPUs, r.threadsPerCore))
	}
	nodes := max(r.nodes, 1)
	tasks := share(r.cpus, r.cpusPerTask)
	with := func(tasks uint64) uint64 {
		return s.wholeCores(min(r.minCPUs, times(max(tasks, 1), r.cpusPerTask)), r.threadsPerCore)
	}
	larger := tasks % nodes
	return plus(times(larger, with(tasks/nodes+1)), times(nodes-larger, with(tasks/nodes)))
}

// dropWithheldJobs removes from the requests the jobs that limits keep from running.
func (p *plan) withhold() {
	for i := range p.requests {
		p.requests[i].jobs = p.requests[i].allowed()
	}
}

// hetPoolKey identifies the components of a heterogeneous job that request nodes in one pool.
type hetInPool struct {
	het  uint32
	pool int
}

// hetNodeSum is how many nodes the components need at once. Those with exclusive nodes add up.
type hetNodes struct {
	alone, shared, maximum uint64
	movable                bool
}

// findOversizedHets finds heterogeneous jobs whose components fit separately, but together need
// more than the Max of the only pool that could run them.
func (p *plan) measureHets(hets map[uint32]fault) {
	sums := map[hetInPool]hetNodes{}
	for i := range p.requests {
		r := &p.requests[i]
		if r.het == 0 || r.target < 0 {
			continue
		}
		sum := sums[hetInPool{r.het, r.pool}]
		if r.whole {
			sum.alone = plus(sum.alone, times(r.jobs, r.spread))
		} else {
			sum.shared = max(sum.shared, r.spread)
		}
		sum.maximum = max(sum.maximum, p.maximum(r.target, r.pool))
		_, other := p.next(r)
		sum.movable = sum.movable || other
		sums[hetInPool{r.het, r.pool}] = sum
	}
	for of, sum := range sums {
		if plus(sum.alone, sum.shared) > sum.maximum && !sum.movable {
			hets[of.het] = max(hets[of.het], faultMaximum)
		}
	}
}

// meets is requirements.meets with a cache.
func (p *plan) meets(r *request, shape int) bool {
	if r.seen == nil {
		return r.readable
	}
	if r.seen[shape] == 0 {
		r.seen[shape] = 2
		if r.need.meets(&p.shapes[shape]) {
			r.seen[shape] = 1
		}
	}
	return r.seen[shape] == 1
}

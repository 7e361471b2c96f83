package demand

import (
	"maps"
	"slices"
)

// plan is the way from alike jobs to the nodes that they need.
type plan struct {
	*cluster
	dims
	groups   []*group
	requests []request
	// nodeByName has the place in nodes of every node, where jobs name any.
	nodeByName map[string]int
}

// request is a group of jobs that more nodes would help.
type request struct {
	*group
	need
	parts []int
	// faults tells, for each of parts, what keeps the jobs from running there.
	faults []fault
	// target is the partition that the jobs ask for nodes in, -1 for none, and
	// placed how.
	target int
	placed
	// seen caches meets by shape: 0 unknown, 1 yes, 2 no. nil when anything goes.
	seen []uint8
	// bin and inBin count the parts of jobs put on one free node, see bundle.fillFree.
	bin, inBin uint64
}

// placed is how a job would run on new nodes.
type placed struct {
	// shape is the nodes' shape, -1 when the partition does not show what its nodes
	// will be: then each node has one job.
	shape int
	// each is what the job takes of each of spread nodes; perEmpty such parts fit on
	// an empty one.
	each             amounts
	spread, perEmpty uint64
}

// fault is why a partition can not run a job. Larger ones are nearer to running.
type fault uint8

const (
	faultNone fault = iota
	faultClosed
	faultUnreadable
	faultForeign
	faultFeatures
	faultSize
	faultMemory
	faultGRES
	faultNodes
	faultComponent
)

// text is for people, and constant.
func (f fault) text() string {
	return [...]string{
		faultNone: "", faultClosed: "partition is down",
		faultUnreadable: "constraint can not be read",
		faultForeign:    "required nodes are not in the partition",
		faultFeatures:   "no node has the features or the disk",
		faultSize:       "no node has the CPUs",
		faultMemory:     "no node has the memory",
		faultGRES:       "no node has the generic resources",
		faultNodes:      "more nodes than the job or the partition may have",
		faultComponent:  "another component of the job can not run",
	}[f]
}

// newPlan reads what the eligible groups ask for.
func newPlan(c *cluster, groups []*group) *plan {
	p := &plan{cluster: c, groups: groups, dims: dims{parsed: map[string]map[string]uint64{}}}
	names := map[string]bool{}
	for _, g := range groups {
		if g.class != ClassCapacity {
			continue
		}
		r := request{group: g, need: needOf(&g.ask), parts: c.partitionsOf(g.partition), target: -1}
		if g.features != "" || r.tmpDisk > 0 {
			r.seen = make([]uint8, len(c.shapes))
		}
		for name := range r.gresPerNode {
			names[name] = true
		}
		for name := range r.gresPerJob {
			names[name] = true
		}
		p.requests = append(p.requests, r)
	}
	p.names = slices.Sorted(maps.Keys(names))
	for i := range c.shapes {
		c.shapes[i].room = p.roomOf(c.shapes[i].sample)
	}
	p.indexNodes()
	return p
}

// indexNodes makes nodes known by name if a job names any.
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

// node finds a node by its name, where jobs name any.
func (p *plan) node(name string) (member, bool) {
	i, ok := p.nodeByName[name]
	if !ok {
		return member{}, false
	}
	return p.nodes[i], true
}

// satisfy finds for every request the partition that it asks for nodes in: the
// first of its list whose nodes could run it.
func (p *plan) satisfy() {
	broken := map[uint32]bool{}
	for i := range p.requests {
		r := &p.requests[i]
		r.faults = make([]fault, len(r.parts))
		for k, at := range r.parts {
			how, f := p.tryIn(r, at)
			r.faults[k] = f
			if f == faultNone && r.target < 0 {
				r.target, r.placed = at, how
			}
		}
		if r.het != 0 && r.target < 0 {
			broken[r.het] = true
		}
	}
	for i := range p.requests {
		if r := &p.requests[i]; r.het != 0 && broken[r.het] {
			r.target = -1
			for k := range r.faults {
				if r.faults[k] == faultNone {
					r.faults[k] = faultComponent
				}
			}
		}
	}
}

// tryIn tells how the partition could run the request's jobs.
func (p *plan) tryIn(r *request, at int) (placed, fault) {
	pt := &p.parts[at]
	if !pt.open {
		return placed{}, faultClosed
	}
	if !r.readable {
		return placed{}, faultUnreadable
	}
	limit := pt.maxNodes
	if r.anyNodes {
		limit = 0
	}
	most := r.most(limit)
	if most < r.nodes {
		return placed{}, faultNodes
	}
	if len(r.required) > 0 {
		return p.tryRequired(r, at)
	}
	if len(pt.shapes) == 0 {
		return p.unseen(r), faultNone
	}
	return p.tryShapes(r, at, most)
}

// unseen is a job on nodes of which nothing is known.
func (p *plan) unseen(r *request) placed {
	how := placed{shape: -1, each: make(amounts, amountGRES+len(p.names)), spread: r.nodes, perEmpty: 1}
	r.perNode(how.each, p.names, r.nodes)
	return how
}

// tryShapes picks, among the partition's shapes of the lowest weight that could
// run the job, the one that needs the fewest nodes.
func (p *plan) tryShapes(r *request, at int, most uint64) (placed, fault) {
	best, worst := placed{shape: -1}, faultFeatures
	v := make(amounts, amountGRES+len(p.names))
	for _, i := range p.parts[at].shapes {
		s := &p.shapes[i]
		if !p.meets(r, i) || (best.shape >= 0 && s.weight > p.shapes[best.shape].weight) {
			continue
		}
		spread, f := p.spreadOver(r, v, s.room, p.parts[at].maxCPUs, most)
		if f != faultNone {
			worst = max(worst, f)
			continue
		}
		how := placed{shape: i, each: v, spread: spread, perEmpty: perEmpty(r, v, s.room, p.parts[at].maxCPUs)}
		if best.shape < 0 || s.weight < p.shapes[best.shape].weight || how.cheaper(best) {
			best, v = how, make(amounts, len(v))
		}
	}
	if best.shape < 0 {
		return placed{}, worst
	}
	return best, faultNone
}

// cheaper reports whether a job takes a smaller share of all its nodes.
func (a placed) cheaper(b placed) bool {
	return times(a.spread, b.perEmpty) < times(b.spread, a.perEmpty)
}

func perEmpty(r *request, v, room amounts, maxCPUs uint64) uint64 {
	if r.whole {
		return 1
	}
	n := room.fits(v)
	if maxCPUs > 0 {
		n = min(n, max(1, maxCPUs/v[amountCPUs]))
	}
	return n
}

// spreadOver finds the least number of nodes with the room that the job runs on,
// and leaves in v what it takes of each.
func (p *plan) spreadOver(r *request, v, room amounts, maxCPUs, most uint64) (uint64, fault) {
	try := func(nodes uint64) fault {
		r.perNode(v, p.names, nodes)
		return tooMuch(v, room, maxCPUs)
	}
	if try(r.nodes) == faultNone {
		return r.nodes, faultNone
	}
	if f := try(most); f != faultNone {
		return 0, p.limited(r, v, room, maxCPUs, f)
	}
	low, high := r.nodes, most // low is too few, high is enough
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

// limited tells a job that no number of nodes would help from one that is not
// allowed enough of them.
func (p *plan) limited(r *request, v, room amounts, maxCPUs uint64, f fault) fault {
	spread := r.cpus
	if r.tasks > 0 {
		spread = r.tasks
	}
	r.perNode(v, p.names, max(spread, r.nodes))
	if tooMuch(v, room, maxCPUs) == faultNone {
		return faultNodes
	}
	return f
}

// tooMuch is what an empty node with the room lacks for v.
func tooMuch(v, room amounts, maxCPUs uint64) fault {
	for i, x := range v {
		switch {
		case x <= room[i] && (i != amountCPUs || maxCPUs == 0 || x <= maxCPUs):
		case i == amountCPUs:
			return faultSize
		case i == amountMemory:
			return faultMemory
		default:
			return faultGRES
		}
	}
	return faultNone
}

// tryRequired places a job that names nodes: those that are there must be of the
// partition and large enough, those that are not are taken on trust.
func (p *plan) tryRequired(r *request, at int) (placed, fault) {
	how := p.unseen(r)
	for _, name := range r.required {
		m, there := p.node(name)
		if !there || m.use == useOff {
			continue
		}
		if !slices.Contains(m.node.Partitions, p.parts[at].Name) {
			return placed{}, faultForeign
		}
		s := &p.shapes[m.shape]
		if !p.meets(r, m.shape) {
			return placed{}, faultFeatures
		}
		if f := tooMuch(how.each, s.room, p.parts[at].maxCPUs); f != faultNone {
			return placed{}, f
		}
	}
	if r.nodes > uint64(len(r.required)) && len(p.parts[at].shapes) > 0 {
		return p.tryShapes(r, at, r.nodes)
	}
	return how, faultNone
}

// count puts every pending job into one class of each of its partitions.
func (p *plan) count() {
	next := 0 // the requests are the groups of ClassCapacity, in their order
	for _, g := range p.groups {
		if g.class != ClassCapacity {
			for _, at := range p.partitionsOf(g.partition) {
				p.parts[at].add(g, g.class)
			}
			continue
		}
		r := &p.requests[next]
		next++
		for k, at := range r.parts {
			p.parts[at].addRequest(r, r.faults[k])
		}
	}
}

func (pt *part) addRequest(r *request, f fault) {
	switch f {
	case faultNone:
		pt.add(r.group, ClassCapacity)
		pt.OldestEligible = earliest(pt.OldestEligible, r.eligible)
	case faultClosed:
		pt.add(r.group, ClassPartitionLimit)
	default:
		pt.add(r.group, ClassUnsatisfiable)
		u := pt.unsatisfiable[f.text()]
		if u.Jobs == 0 || r.example < u.JobID {
			u.JobID = r.example
		}
		u.Reason, u.Jobs = f.text(), u.Jobs+r.jobs
		pt.unsatisfiable[u.Reason] = u
	}
}

func (pt *part) add(g *group, class Class) {
	pt.PendingJobs += g.jobs
	if class == ClassCapacity {
		pt.EligiblePendingJobs += g.jobs
	}
	pt.byReason[ReasonCount{Reason: g.reason, Class: class}] += g.jobs
	pt.Inexact = pt.Inexact || g.inexact
	pt.OldestPending = earliest(pt.OldestPending, g.submitted)
}

// meets is need.meets with a memory.
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

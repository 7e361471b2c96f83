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
	// jobs is how many of the group it stands for.
	jobs  uint64
	parts []int
	// faults tells, for each of parts, what keeps the jobs from running there.
	faults []fault
	// target is the partition that the jobs ask for nodes in, -1 for none, and
	// placed how; from is where that was found.
	target int
	placed
	from spot
	// seen caches meets by shape: 0 unknown, 1 yes, 2 no. nil when anything goes.
	seen []uint8
	// bin and inBin count the parts of jobs put on one free node, see bundle.fillFree.
	bin, inBin uint64
}

// newPlan reads what the eligible groups ask for.
func newPlan(c *cluster, groups []*group) *plan {
	p := &plan{cluster: c, groups: groups, dims: dims{parsed: map[string]map[string]uint64{}}}
	names := map[string]bool{}
	for _, g := range groups {
		if g.class != ClassCapacity {
			continue
		}
		r := request{group: g, jobs: g.jobs, need: needOf(&g.ask), parts: c.partitionsOf(g.partition), target: -1}
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
		c.shapes[i].room = p.roomOf(&c.shapes[i])
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

// satisfy finds for every request where it asks for nodes: in the first partition
// of its list that could run it, from the first source there that could.
func (p *plan) satisfy() {
	broken := map[uint32]bool{}
	for i := range p.requests {
		r := &p.requests[i]
		r.faults = make([]fault, len(r.parts))
		for k := range r.parts {
			how, at, f := p.tryFrom(r, spot{part: k})
			r.faults[k] = f
			if f == faultNone && r.target < 0 {
				r.target, r.placed, r.from = r.parts[k], how, at
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

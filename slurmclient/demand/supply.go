package demand

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// freeNodes is a number of nodes with the same room.
type supply struct {
	shape int
	free  amounts
	// empty is whether the nodes have no work.
	whole bool
	// name is the name of the node if jobs require or exclude it.
	name  string
	count uint64
	// freeState is how each node counts in its pool once a job takes it. taken is how many of the
	// nodes jobs take.
	claim claim
	taken uint64
}

// groupFreeNodes groups the nodes that have room.
func (p *plan) supplies() []supply {
	named := p.mentioned()
	index := map[string]int{}
	var out []supply
	scratch := make(amounts, amountGRES+len(p.names))
	var buf []byte
	for _, m := range p.nodes {
		empty, state, ok := p.readRoom(&m, scratch)
		if !ok {
			continue
		}
		s := supply{shape: m.shape, whole: empty, claim: state}
		if named[m.node.Name] {
			s.name = m.node.Name
		}
		buf = s.appendKey(buf[:0], scratch)
		i, ok := index[string(buf)]
		if !ok {
			i = len(out)
			index[string(buf)] = i
			s.free = slices.Clone(scratch)
			out = append(out, s)
		}
		out[i].count++
	}
	return out
}

// readRoom writes to free what is left on a node, and returns whether the node has no work and how
// it counts once a job takes it. ok is false where no job could start on it.
func (p *plan) readRoom(m *member, free amounts) (empty bool, state claim, ok bool) {
	if !m.room {
		return false, claimNone, false
	}
	n, work := m.node, m.use == useBusy
	if m.before != nil {
		n, work = m.before, false
	}
	if empty = !work && n.AllocCPUs == 0 && n.AllocMemoryMiB == 0; empty {
		state = m.claim
	}
	p.freeOf(free, p.shapes[m.shape].room, n)
	free[amountCPUs] = min(free[amountCPUs], p.allowedCPUs(m))
	return empty, state, free[amountCPUs] > 0
}

// sortFreeNodes puts nodes with work before empty ones, and idle nodes before booting ones.
func order(free []supply) {
	slices.SortFunc(free, func(a, b supply) int {
		return cmp.Or(
			cmp.Compare(wholeness(a.whole), wholeness(b.whole)), cmp.Compare(a.claim, b.claim),
			cmp.Compare(a.shape, b.shape), slices.Compare(a.free, b.free), strings.Compare(a.name, b.name),
		)
	})
}

func wholeness(empty bool) int {
	if empty {
		return 1
	}
	return 0
}

// appendKey appends what distinguishes one kind of free nodes from another.
func (s *supply) appendKey(buf []byte, free amounts) []byte {
	buf = append(buf, byte(wholeness(s.whole)), byte(s.claim))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(s.shape))
	for _, v := range free {
		buf = binary.LittleEndian.AppendUint64(buf, v)
	}
	return append(buf, s.name...)
}

// nodesNamedByJobs returns the nodes that some request names.
func (p *plan) mentioned() map[string]bool {
	out := map[string]bool{}
	for i := range p.requests {
		for _, name := range p.requests[i].required {
			out[name] = true
		}
		for name := range p.requests[i].excluded {
			out[name] = true
		}
	}
	return out
}

// provideNamedNodes handles the nodes that jobs name. A usable node adds no demand, and what the
// jobs take of it is not free for others. A missing or unusable node is one pending node, however
// many jobs name it.
func (p *plan) settleRequired(free []supply) {
	missing := map[string]bool{}
	for i := range p.requests {
		r := &p.requests[i]
		if r.target < 0 || r.jobs == 0 {
			continue
		}
		for _, name := range r.required {
			m, there := p.node(name)
			if !there || !m.use.usable() {
				if !missing[name] {
					missing[name] = true
					pool := p.poolOfMissing(r, m, there)
					p.ask(r.target, pool, 1)
					p.name(pool, name)
				}
				continue
			}
			for k := range free {
				if free[k].name == name {
					free[k].occupy(r)
				}
			}
		}
	}
}

// requireWorker ensures that Required of the pool includes the named worker: workers have the
// lowest ordinals.
func (p *plan) name(pool int, worker string) {
	if pool == noPool {
		return
	}
	if ordinal, ok := p.pools[pool].offer.ordinal(worker); ok {
		p.pools[pool].named = max(p.pools[pool].named, plus(ordinal, 1))
	}
}

// poolOfMissing returns the pool of a node that is missing or unusable: that of its record if the
// record is in the partition, else the pool in which the jobs request nodes.
func (p *plan) poolOfMissing(r *request, m member, there bool) int {
	if there && slices.Contains(p.shapes[m.shape].parts, r.target) {
		return p.shapes[m.shape].pool
	}
	return r.pool
}

// occupy takes what the request's jobs can use of the one node.
func (s *supply) occupy(r *request) {
	s.taken = 1
	if r.alone() {
		clear(s.free)
	} else {
		s.free.take(r.each, min(s.free.fits(r.each), r.jobs))
	}
	s.whole = false
}

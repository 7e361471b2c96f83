package demand

import (
	"cmp"
	"slices"
)

// simulation follows slurmctld's rules for the queue of pools that share partitions, for a given
// number of workers.
type rehearsal struct {
	*plan
	pools   []int
	members []int  // the indexes of the nodes in its partitions
	inside  []bool // by partition
	// maxNew is how many new workers each pool can have, by pool index.
	most  []uint64
	seats []seat
	turns []turn
	hets  [][]turn
	// workLeft is how many more nodes can be evaluated.
	work int
}

// attempt is slurmctld's attempt to start alike jobs in one of their partitions.
type turn struct {
	r    *request
	rec  *record
	part int
	at   int // index of the partition in the job's list
	tier uint32
}

// jobRecord is one job record: a job, or the tasks of an array.
type record struct {
	id             uint32
	priority, jobs uint64
}

// maxWork bounds the cost of the simulations of one Compute, in evaluated nodes. The demand of a
// queue that would cost more stays an estimate.
const maxWork = 400_000

// simulateQueues corrects the estimates of pools by the rules of slurmctld: it finds the fewest new
// workers that start every job which all possible workers would start.
func (p *plan) rehearse() {
	if len(p.pools) == 0 || len(p.requests) == 0 {
		return
	}
	groups := p.groupPools()
	for i := range groups {
		h := &groups[i]
		h.work = maxWork / len(groups)
		if h.prepare() {
			h.correct()
		}
	}
}

// groupPools returns a simulation for each set of pools that share partitions, directly or through
// jobs or nodes with several partitions.
func (p *plan) groupPools() (groups []rehearsal) {
	root := p.joinPartitions()
	groupOf := map[int]int{} // by the partition that represents the group
	for at := range p.pools {
		if len(p.pools[at].parts) == 0 {
			continue
		}
		r := root(p.pools[at].parts[0])
		if _, ok := groupOf[r]; !ok {
			groupOf[r] = len(groups)
			groups = append(groups, rehearsal{plan: p})
		}
		h := &groups[groupOf[r]]
		h.pools = append(h.pools, at)
	}
	for i := range p.nodes {
		parts := p.shapes[p.nodes[i].shape].parts
		if len(parts) == 0 {
			continue
		}
		if g, ok := groupOf[root(parts[0])]; ok {
			groups[g].members = append(groups[g].members, i)
		}
	}
	return groups
}

// joinPartitions joins the partitions that share pools, jobs or nodes. root returns the partition
// that represents the group of a partition.
func (p *plan) joinPartitions() (root func(int) int) {
	joined := make([]int, len(p.parts))
	for i := range joined {
		joined[i] = i
	}
	root = func(i int) int {
		for joined[i] != i {
			i = joined[i]
		}
		return i
	}
	join := func(parts []int) {
		for _, i := range parts {
			a, b := root(parts[0]), root(i)
			joined[max(a, b)] = min(a, b)
		}
	}
	for at := range p.pools {
		join(p.pools[at].parts)
	}
	for i := range p.requests {
		join(p.requests[i].parts)
	}
	for i := range p.shapes {
		join(p.shapes[i].parts)
	}
	return root
}

// prepare reports whether the queue of the pools can be simulated: jobs are pending, their requests
// and the shapes of new workers are known, and the cost is within the bound.
func (h *rehearsal) prepare() bool {
	h.inside = make([]bool, len(h.parts))
	h.most = make([]uint64, len(h.plan.pools))
	count := uint64(len(h.members))
	for _, at := range h.pools {
		p := &h.plan.pools[at]
		if len(p.shapes) != 1 || h.shapes[p.shapes[0]].single || h.shapes[p.shapes[0]].trusted {
			return false
		}
		for _, i := range p.parts {
			h.inside[i] = true
		}
		h.most[at] = max(plus(times(p.result.Pending, 2), 8), p.named)
		if p.limited {
			h.most[at] = p.spare
		}
		count = plus(count, h.most[at])
	}
	if times(count, h.countChoices()) > uint64(h.work) || !h.addTurns() {
		return false
	}
	h.addSeats()
	return true
}

// countChoices estimates how often a run selects nodes: once per attempt, and once per filled node
// or per job on several nodes.
func (h *rehearsal) countChoices() (count uint64) {
	for i := range h.requests {
		r := &h.requests[i]
		if r.target < 0 || r.jobs == 0 || !h.inside[r.target] {
			continue
		}
		attempts := min(uint64(len(r.records)), r.jobs) * uint64(len(r.parts))
		fills := r.jobs
		if r.pieces() == 1 {
			fills = share(r.jobs, max(r.perEmpty, 1))
		}
		count = plus(count, max(attempts, fills))
	}
	return count
}

// addAttempts lists what slurmctld attempts, in its order: by the tier of the partition, by
// priority, then by job ID. It returns false when nothing is pending.
func (h *rehearsal) addTurns() bool {
	hets := map[uint32][]turn{}
	for i := range h.requests {
		r := &h.requests[i]
		if r.target < 0 || r.jobs == 0 || !h.inside[r.target] {
			continue
		}
		if r.deviations&^(isHeterogeneous|isFederated) != 0 || !h.knows(r) {
			return false
		}
		left := r.jobs
		for _, rec := range r.recordsInOrder() {
			rec.jobs = min(rec.jobs, left)
			left -= rec.jobs
			if rec.jobs == 0 {
				break
			}
			for k, part := range r.parts {
				if r.faults[k] != faultNone {
					continue
				}
				t := turn{r: r, rec: rec, part: part, at: k, tier: h.parts[part].tier}
				if r.het == 0 {
					h.turns = append(h.turns, t)
				} else {
					hets[r.het] = append(hets[r.het], t)
				}
			}
		}
	}
	slices.SortFunc(h.turns, turn.compare)
	for _, attempts := range hets {
		slices.SortFunc(attempts, turn.compare)
		h.hets = append(h.hets, attempts)
	}
	slices.SortFunc(h.hets, func(a, b []turn) int { return a[0].compare(b[0]) })
	return len(h.turns)+len(h.hets) > 0
}

// knowsNamedNodes reports whether the nodes that the request names are existing or future nodes.
// The names of a pool's workers can be unknown.
func (h *rehearsal) knows(r *request) bool {
	for _, name := range r.required {
		_, there := h.node(name)
		if !there && !slices.ContainsFunc(h.pools, func(at int) bool {
			_, ok := h.plan.pools[at].offer.ordinal(name)
			return ok
		}) {
			return false
		}
	}
	return true
}

func (t turn) compare(u turn) int {
	return cmp.Or(
		cmp.Compare(u.tier, t.tier), cmp.Compare(u.rec.priority, t.rec.priority),
		cmp.Compare(t.rec.id, u.rec.id), cmp.Compare(t.at, u.at),
	)
}

// recordsInOrder returns copies of the group's records in the order in which they start.
func (g *group) recordsInOrder() []*record {
	out := make([]*record, len(g.records))
	for i := range g.records {
		rec := g.records[i]
		out[i] = &rec
	}
	slices.SortFunc(out, func(a, b *record) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.id, b.id))
	})
	return out
}

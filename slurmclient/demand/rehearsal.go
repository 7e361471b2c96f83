package demand

import (
	"cmp"
	"slices"
)

// rehearsal plays what slurmctld would do with the queue of pools that share partitions,
// were so many workers there.
type rehearsal struct {
	*plan
	pools  []int
	inside []bool // by partition
	// most is how many new workers each pool may have, by its place.
	most  []uint64
	seats []seat
	turns []turn
	hets  [][]turn
	// work is how many more seats may be looked at.
	work int
}

// turn is like jobs for which slurmctld tries one of their partitions.
type turn struct {
	r        *request
	rec      *record
	part     int
	at       int // of the partition in the job's list
	tier     uint32
	priority uint64
}

// record is what stands in one job record: a job, or the tasks of an array.
type record struct {
	id             uint32
	priority, jobs uint64
}

// maxWork bounds what the rehearsals of one Compute may cost, in seats looked at. A queue
// that would cost more is estimated.
const maxWork = 400_000

// rehearse corrects the estimates of pools by what slurmctld would do: it has the fewest
// new workers with which every job starts that would start with all that there may be.
func (p *plan) rehearse() {
	groups := p.poolGroups()
	for _, pools := range groups {
		h := rehearsal{plan: p, pools: pools, work: maxWork / len(groups)}
		if h.prepare() {
			h.correct()
		}
	}
}

// poolGroups are the pools that share partitions, directly or by jobs that list several.
func (p *plan) poolGroups() (groups [][]int) {
	root := make([]int, len(p.parts))
	for i := range root {
		root[i] = i
	}
	find := func(i int) int {
		for root[i] != i {
			i = root[i]
		}
		return i
	}
	join := func(parts []int) {
		for _, i := range parts {
			a, b := find(parts[0]), find(i)
			root[max(a, b)] = min(a, b)
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
	of := map[int]int{}
	for at := range p.pools {
		if len(p.pools[at].parts) == 0 {
			continue
		}
		r := find(p.pools[at].parts[0])
		if _, ok := of[r]; !ok {
			of[r] = len(groups)
			groups = append(groups, nil)
		}
		groups[of[r]] = append(groups[of[r]], at)
	}
	return groups
}

// prepare reports whether the queue of the pools can be rehearsed: something waits, what
// jobs ask for and what new workers are is known, and it does not cost too much.
func (h *rehearsal) prepare() bool {
	h.inside = make([]bool, len(h.parts))
	h.most = make([]uint64, len(h.plan.pools))
	seats := uint64(0)
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
		seats = plus(seats, h.most[at])
	}
	if times(max(seats, 1), h.countTurns()) > uint64(h.work) || !h.addTurns() {
		return false
	}
	h.addSeats()
	return true
}

// countTurns is how many turns there will be at most.
func (h *rehearsal) countTurns() (count uint64) {
	for i := range h.requests {
		if r := &h.requests[i]; r.target >= 0 && h.inside[r.target] {
			count += uint64(min(len(r.records), int(r.jobs)) * len(r.parts))
		}
	}
	return count
}

// addTurns lists what slurmctld tries, in its order: by the tier of the partition, by
// priority, then by id. It returns false when nothing waits.
func (h *rehearsal) addTurns() bool {
	hets := map[uint32][]turn{}
	for i := range h.requests {
		r := &h.requests[i]
		if r.target < 0 || r.jobs == 0 || !h.inside[r.target] {
			continue
		}
		if r.deviations&^isHeterogeneous != 0 || !h.knows(r) {
			return false
		}
		left := r.jobs
		for _, rec := range r.byPriority() {
			rec.jobs = min(rec.jobs, left)
			left -= rec.jobs
			if rec.jobs == 0 {
				break
			}
			for k, part := range r.parts {
				if r.faults[k] != faultNone {
					continue
				}
				t := turn{r: r, rec: rec, part: part, at: k, tier: h.parts[part].tier, priority: rec.priority}
				if r.het == 0 {
					h.turns = append(h.turns, t)
				} else {
					hets[r.het] = append(hets[r.het], t)
				}
			}
		}
	}
	slices.SortFunc(h.turns, turn.compare)
	for _, turns := range hets {
		slices.SortFunc(turns, turn.compare)
		h.hets = append(h.hets, turns)
	}
	slices.SortFunc(h.hets, func(a, b []turn) int { return a[0].compare(b[0]) })
	return len(h.turns)+len(h.hets) > 0
}

// knows reports whether the nodes that the request names are ones that are there or will
// be: a pool may not tell the names of its workers.
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
		cmp.Compare(u.tier, t.tier), cmp.Compare(u.priority, t.priority),
		cmp.Compare(t.rec.id, u.rec.id), cmp.Compare(t.at, u.at),
	)
}

// byPriority are the records of the group in the order in which they start, each a copy.
func (g *group) byPriority() []*record {
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

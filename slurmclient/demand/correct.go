package demand

import (
	"cmp"
	"slices"
)

// correctEstimate finds the fewest new workers that start every job which all possible workers
// would start, and replaces the estimate by them.
func (h *rehearsal) correct() {
	all := h.playQueue(cast{up: h.most})
	if all == nil || h.contradicts(all) {
		return
	}
	enough := func(up []uint64) bool { return h.startsSame(cast{up: up}, all) }
	up := make([]uint64, len(h.most))
	for _, at := range h.pools {
		up[at] = min(h.plan.pools[at].result.Pending, h.most[at])
	}
	if !enough(up) {
		h.raiseWorkers(up, all, enough)
	}
	h.lowerWorkers(up, enough)
	if len(h.hets) > 0 {
		h.provideForHets(up, all)
	}
	if s := h.playQueue(cast{up: up}); s != nil && s.startsAllOf(all) {
		h.applyRun(s, all)
	}
}

// startsSameJobs reports whether every job starts that starts in the run with all workers.
func (h *rehearsal) startsSame(workers cast, all *stage) bool {
	s := h.playQueue(workers)
	return s != nil && s.startsAllOf(all)
}

// leavesJobs reports whether a job is pending even in the run with all workers.
func (h *rehearsal) leavesJobs(all *stage) bool {
	for i := range h.requests {
		if r := &h.requests[i]; r.target >= 0 && h.inside[r.target] && all.started[r] < r.jobs {
			return true
		}
	}
	return false
}

// contradicts reports whether jobs are pending although their pool has as many unused new workers
// as they need by the estimate. The rules of the simulation then lack something about these jobs,
// and the estimate stands.
func (h *rehearsal) contradicts(all *stage) bool {
	unused := make([]uint64, len(h.plan.pools))
	for i, s := range h.seats {
		if s.fresh > 0 && all.first[i] < 0 {
			unused[h.shapes[s.shape].pool]++
		}
	}
	for i := range h.requests {
		r := &h.requests[i]
		if r.target < 0 || !h.inside[r.target] || r.pool == noPool || len(r.required) > 0 || r.het != 0 {
			continue
		}
		if all.started[r] < r.jobs && unused[r.pool] >= r.spread {
			return true
		}
	}
	return false
}

// startsAllOf reports whether every job starts that starts in the other run.
func (s *stage) startsAllOf(other *stage) bool {
	for r, n := range other.started {
		if s.started[r] < n {
			return false
		}
	}
	return true
}

// raiseWorkers adds workers to all pools, in growing steps, until they are enough.
func (h *rehearsal) raiseWorkers(up []uint64, all *stage, enough func([]uint64) bool) {
	used := make([]uint64, len(up))
	for i, s := range h.seats {
		if at := h.shapes[s.shape].pool; s.fresh > 0 && all.first[i] >= 0 {
			used[at] = max(used[at], s.fresh)
		}
	}
	for _, at := range h.pools {
		up[at] = max(up[at], used[at])
	}
	if enough(up) {
		return
	}
	for step := uint64(1); h.work >= 0; step *= 2 {
		most := true
		for _, at := range h.pools {
			up[at] = min(plus(up[at], step), h.most[at])
			most = most && up[at] == h.most[at]
		}
		if most || enough(up) {
			return
		}
	}
}

// addWorkerForHets adds one worker where it would help if heterogeneous jobs started before all
// others. slurmctld starts them when backfill has considered the other jobs, usually after these
// have started.
func (h *rehearsal) provideForHets(up []uint64, all *stage) {
	enough := func() bool { return h.startsSame(cast{up: up, hetFirst: true}, all) }
	if enough() {
		return
	}
	for _, at := range h.pools {
		if up[at] == h.most[at] {
			continue
		}
		if up[at]++; enough() {
			return
		}
		up[at]--
	}
}

// lowerWorkers removes workers as long as the rest is enough. It begins with the pools that jobs
// request last: the highest weight first, and the last name among equals.
func (h *rehearsal) lowerWorkers(up []uint64, enough func([]uint64) bool) {
	pools := slices.Clone(h.pools)
	slices.SortStableFunc(pools, func(a, b int) int {
		return cmp.Or(cmp.Compare(h.plan.pools[b].weight, h.plan.pools[a].weight), cmp.Compare(b, a))
	})
	for _, at := range pools {
		low, high := uint64(0), up[at] // high workers are enough
		for first := true; low < high && h.work >= 0; first = false {
			up[at] = low + (high-low)/2
			if first {
				up[at] = high - 1
			}
			if enough(up) {
				high = up[at]
			} else {
				low = up[at] + 1
			}
		}
		up[at] = high
	}
}

// applyRun replaces the estimate by what a run used.
func (h *rehearsal) applyRun(s, all *stage) {
	busy := false
	for _, at := range h.pools {
		busy = busy || h.plan.pools[at].result.Busy > 0
	}
	waits, over := busy && h.leavesJobs(all), false
	for _, at := range h.pools {
		p := &h.plan.pools[at]
		tooMany := p.result.Pending > h.most[at]
		over = over || tooMany
		p.rehearsed, p.fresh = true, s.up[at]
		// Existing workers stay for jobs that wait until others end.
		p.keepsAll = tooMany && waits
	}
	if over {
		return
	}
	for _, at := range h.pools {
		p := &h.plan.pools[at]
		p.result.Pending, p.claimedIdle, p.claimedBooting = 0, 0, 0
	}
	for i := range h.parts {
		if h.inside[i] {
			h.parts[i].PendingNodes = h.parts[i].beyond
		}
	}
	for i, n := range h.seats {
		pool := h.shapes[n.shape].pool
		if s.first[i] < 0 || pool == noPool {
			continue
		}
		p := &h.plan.pools[pool]
		switch {
		case n.fresh > 0:
			p.result.Pending++
			h.parts[s.first[i]].PendingNodes++
		case n.claim == claimIdle:
			p.claimedIdle++
		case n.claim == claimBooting:
			p.claimedBooting++
		}
	}
	keep := !h.mayGo(s, all)
	for _, at := range h.pools {
		h.plan.pools[at].keepsAll = keep
	}
}

// canRemoveUnused reports whether the idle and booting workers that a run did not use can be
// removed, no matter which ones are removed: as many stay as the run used. An unused worker can be
// what keeps two others from being adjacent, which slurmctld would give to one job.
func (h *rehearsal) mayGo(s, all *stage) bool {
	unused, last, first := map[int]bool{}, map[int]bool{}, map[int]bool{}
	sets := []map[int]bool{unused, last, first}
	for _, at := range h.pools {
		free, used := h.freeOfPool(at), 0
		for _, i := range free {
			if s.first[i] >= 0 {
				used++
			} else {
				unused[i] = true
			}
		}
		if used == len(free) {
			continue
		}
		addAll(last, free[used:])
		addAll(first, free[:len(free)-used])
		for _, i := range free[:min(len(free), maxTried)] {
			sets = append(sets, map[int]bool{i: true})
		}
	}
	if len(unused) == 0 {
		return true
	}
	for _, gone := range sets {
		if !h.startsSame(cast{up: s.up, gone: gone}, all) ||
			len(h.hets) > 0 &&
				!h.startsSame(cast{up: s.up, gone: gone, hetFirst: true}, all) {
			return false
		}
	}
	return true
}

// maxTriedWorkers bounds how many workers of a pool are left out one by one.
const maxTried = 16

// freeWorkers returns the indexes of the pool's idle and booting workers in simNodes.
func (h *rehearsal) freeOfPool(at int) (free []int) {
	for i, n := range h.seats {
		if n.fresh == 0 && n.claim != claimNone && h.shapes[n.shape].pool == at {
			free = append(free, i)
		}
	}
	return free
}

// addToSet adds indexes to a set.
func addAll(to map[int]bool, indexes []int) {
	for _, i := range indexes {
		to[i] = true
	}
}

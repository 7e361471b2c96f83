package demand

import (
	"cmp"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
)

// correctEstimate replaces the estimate by the fewest new workers that start the same jobs as all possible workers.
func (h *simulation) correctEstimate() {
	all := h.runQueue(workerSet{newWorkers: h.maxNew})
	if all == nil || h.contradictsEstimate(all) {
		return
	}
	enough := func(up []uint64) bool { return h.startsSameJobs(workerSet{newWorkers: up}, all) }
	up := make([]uint64, len(h.maxNew))
	for _, at := range h.poolIndexes {
		up[at] = min(h.planner.Pools[at].Result.Pending, h.maxNew[at])
	}
	if !enough(up) {
		h.raiseWorkers(up, all, enough)
	}
	h.lowerWorkers(up, enough)
	if len(h.hetAttempts) > 0 {
		h.addWorkerForHets(up, all)
	}
	if s := h.runQueue(workerSet{newWorkers: up}); s != nil && s.startsAllOf(all) {
		h.applyRun(s, all)
	}
}

// startsSameJobs reports whether this run starts every job that the run with all workers starts.
func (h *simulation) startsSameJobs(workers workerSet, all *simRun) bool {
	s := h.runQueue(workers)
	return s != nil && s.startsAllOf(all)
}

// leavesJobsPending reports whether a job is pending even in the run with all workers.
func (h *simulation) leavesJobsPending(all *simRun) bool {
	for i := range h.requests {
		if r := &h.requests[i]; r.target >= 0 && h.inGroup[r.target] && all.started[r] < r.jobs {
			return true
		}
	}
	return false
}

// contradictsEstimate reports whether jobs are pending although their pool has as many unused new workers as they need
// by the estimate. The simulation's rules are then incomplete for these jobs, and the estimate stands.
func (h *simulation) contradictsEstimate(all *simRun) bool {
	unused := make([]uint64, len(h.planner.Pools))
	for i, s := range h.simNodes {
		if s.newRank > 0 && all.firstPartition[i] < 0 {
			unused[h.Shapes[s.shape].Pool]++
		}
	}
	for i := range h.requests {
		r := &h.requests[i]
		if r.target < 0 || !h.inGroup[r.target] || r.pool == model.NoPool || len(r.RequiredNodes) > 0 ||
			r.HetJobID != 0 {
			continue
		}
		if all.started[r] < r.jobs && unused[r.pool] >= r.nodesPerJob {
			return true
		}
	}
	return false
}

// startsAllOf reports whether this run starts every job that the other run starts.
func (s *simRun) startsAllOf(other *simRun) bool {
	for r, n := range other.started {
		if s.started[r] < n {
			return false
		}
	}
	return true
}

// raiseWorkers adds workers to all pools, in growing steps, until they are enough.
func (h *simulation) raiseWorkers(up []uint64, all *simRun, enough func([]uint64) bool) {
	used := make([]uint64, len(up))
	for i, s := range h.simNodes {
		if at := h.Shapes[s.shape].Pool; s.newRank > 0 && all.firstPartition[i] >= 0 {
			used[at] = max(used[at], s.newRank)
		}
	}
	for _, at := range h.poolIndexes {
		up[at] = max(up[at], used[at])
	}
	if enough(up) {
		return
	}
	for step := uint64(1); h.workLeft >= 0; step *= 2 {
		most := true
		for _, at := range h.poolIndexes {
			up[at] = min(saturating.Add(up[at], step), h.maxNew[at])
			most = most && up[at] == h.maxNew[at]
		}
		if most || enough(up) {
			return
		}
	}
}

// addWorkerForHets adds one worker if all jobs could then start even if heterogeneous jobs start first. slurmctld
// starts them after backfill has considered the other jobs, usually after these have started.
func (h *simulation) addWorkerForHets(up []uint64, all *simRun) {
	enough := func() bool { return h.startsSameJobs(workerSet{newWorkers: up, hetFirst: true}, all) }
	if enough() {
		return
	}
	for _, at := range h.poolIndexes {
		if up[at] == h.maxNew[at] {
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
func (h *simulation) lowerWorkers(up []uint64, enough func([]uint64) bool) {
	pools := slices.Clone(h.poolIndexes)
	slices.SortStableFunc(pools, func(a, b int) int {
		return cmp.Or(cmp.Compare(h.planner.Pools[b].Weight, h.planner.Pools[a].Weight), cmp.Compare(b, a))
	})
	for _, at := range pools {
		low, high := uint64(0), up[at] // high workers are enough
		for first := true; low < high && h.workLeft >= 0; first = false {
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
func (h *simulation) applyRun(s, all *simRun) {
	busy := false
	for _, at := range h.poolIndexes {
		busy = busy || h.planner.Pools[at].Result.Busy > 0
	}
	waits, over := busy && h.leavesJobsPending(all), false
	for _, at := range h.poolIndexes {
		p := &h.planner.Pools[at]
		tooMany := p.Result.Pending > h.maxNew[at]
		over = over || tooMany
		p.IsSimulated, p.SimulatedNew = true, s.newWorkers[at]
		// Existing workers stay for jobs that wait until others end.
		p.KeepsAllFree = tooMany && waits
	}
	if over {
		return
	}
	for _, at := range h.poolIndexes {
		p := &h.planner.Pools[at]
		p.Result.Pending, p.ClaimedIdle, p.ClaimedBooting = 0, 0, 0
	}
	for i := range h.Partitions {
		if h.inGroup[i] {
			h.Partitions[i].PendingNodes = h.Partitions[i].PendingOutsidePools
		}
	}
	for i, n := range h.simNodes {
		pool := h.Shapes[n.shape].Pool
		if s.firstPartition[i] < 0 || pool == model.NoPool {
			continue
		}
		p := &h.planner.Pools[pool]
		switch {
		case n.newRank > 0:
			p.Result.Pending++
			h.Partitions[s.firstPartition[i]].PendingNodes++
		case n.freeState == model.FreeIdle:
			p.ClaimedIdle++
		case n.freeState == model.FreeBooting:
			p.ClaimedBooting++
		}
	}
	keep := !h.canRemoveUnused(s, all)
	for _, at := range h.poolIndexes {
		h.planner.Pools[at].KeepsAllFree = keep
	}
}

// canRemoveUnused reports whether the unused idle and booting workers of a run can be removed, no matter which ones: as
// many stay as the run used. An unused worker can keep two others from being adjacent, which slurmctld would give to
// one job.
func (h *simulation) canRemoveUnused(s, all *simRun) bool {
	unused, last, first := map[int]bool{}, map[int]bool{}, map[int]bool{}
	sets := []map[int]bool{unused, last, first}
	for _, at := range h.poolIndexes {
		free, used := h.freeWorkers(at), 0
		for _, i := range free {
			if s.firstPartition[i] >= 0 {
				used++
			} else {
				unused[i] = true
			}
		}
		if used == len(free) {
			continue
		}
		addToSet(last, free[used:])
		addToSet(first, free[:len(free)-used])
		for _, i := range free[:min(len(free), maxTriedWorkers)] {
			sets = append(sets, map[int]bool{i: true})
		}
	}
	if len(unused) == 0 {
		return true
	}
	for _, gone := range sets {
		if !h.startsSameJobs(workerSet{newWorkers: s.newWorkers, removed: gone}, all) ||
			len(h.hetAttempts) > 0 &&
				!h.startsSameJobs(workerSet{newWorkers: s.newWorkers, removed: gone, hetFirst: true}, all) {
			return false
		}
	}
	return true
}

// maxTriedWorkers bounds how many workers of a pool are left out one by one.
const maxTriedWorkers = 16

// freeWorkers returns the indexes of the pool's idle and booting workers in simNodes.
func (h *simulation) freeWorkers(at int) (free []int) {
	for i, n := range h.simNodes {
		if n.newRank == 0 && (n.freeState == model.FreeIdle || n.freeState == model.FreeBooting) && h.Shapes[n.shape].Pool == at {
			free = append(free, i)
		}
	}
	return free
}

// addToSet adds indexes to a set.
func addToSet(to map[int]bool, indexes []int) {
	for _, i := range indexes {
		to[i] = true
	}
}

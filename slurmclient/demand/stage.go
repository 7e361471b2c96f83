package demand

import (
	"maps"
	"slices"
)

// simRun is the state of the nodes during one run of a simulation.
type stage struct {
	*rehearsal
	cast
	// withNew is whether booting nodes and new workers can be used.
	later bool
	// Per node: what is free, whether no job is on it, the request whose jobs have it exclusively,
	// the CPUs of each partition's jobs where that is limited, and the partition of the first job
	// on it, -1 for none.
	free   []amounts
	empty  []bool
	alike  []*request
	inPart []map[int]uint64
	first  []int
	// started is how many jobs of each request have started.
	started map[*request]uint64
	// avoidedNodes are the nodes of other components of a heterogeneous job.
	avoided map[int]bool
	// keptNodes are the nodes that pending jobs will get once others end.
	kept []bool
}

// workerSet is the set of workers that exist: a number of new ones for each pool, and all existing
// ones except the removed ones.
type cast struct {
	up   []uint64
	gone map[int]bool
	// hetFirst is whether heterogeneous jobs start before all others, rather than after them.
	hetFirst bool
}

// playQueue starts what slurmctld's rules allow, first on the ready nodes, then on all. It returns
// nil when that costs too much.
func (h *rehearsal) playQueue(workers cast) *stage {
	s := h.newStage(workers)
	left := map[*record]uint64{}
	for _, attempts := range append([][]turn{h.turns}, h.hets...) {
		for _, t := range attempts {
			left[t.rec] = t.rec.jobs
		}
	}
	ready := slices.ContainsFunc(h.seats, func(s seat) bool { return s.ready() })
	for _, s.later = range [...]bool{false, true} {
		if !s.later && !ready {
			continue
		}
		if s.hetFirst {
			s.startHets(left)
		}
		for _, t := range h.turns {
			left[t.rec] -= s.startJobs(t, left[t.rec])
			if !s.later && left[t.rec] > 0 {
				s.keepFor(t)
			}
		}
		s.startHets(left)
		s.kept = nil
	}
	if h.work < 0 {
		return nil
	}
	return s
}

// newRun returns the state before any job starts.
func (h *rehearsal) newStage(workers cast) *stage {
	s := &stage{rehearsal: h, cast: workers, started: map[*request]uint64{}}
	size := amountGRES + len(h.names)
	all := make(amounts, len(h.seats)*size)
	s.free, s.empty = make([]amounts, len(h.seats)), make([]bool, len(h.seats))
	s.alike, s.inPart = make([]*request, len(h.seats)), make([]map[int]uint64, len(h.seats))
	s.first = make([]int, len(h.seats))
	for i := range h.seats {
		s.free[i] = all[i*size : (i+1)*size]
		copy(s.free[i], h.seats[i].room)
		s.inPart[i] = maps.Clone(h.seats[i].used)
		s.empty[i], s.first[i] = h.seats[i].empty, -1
	}
	return s
}

// startJobs starts up to jobs jobs of the attempt, and returns how many started.
func (s *stage) startJobs(t turn, jobs uint64) (started uint64) {
	for started < jobs && s.work >= 0 {
		c := choice{stage: s, r: t.r, part: t.part}
		if !c.chooseNodes() {
			break
		}
		started++
		s.takeNodes(&c)
		// The next job selects the same nodes as long as they have room.
		for started < jobs && c.fitsAgain() {
			started++
			s.takeNodes(&c)
		}
	}
	s.started[t.r] += started
	return started
}

// startHets starts the pending heterogeneous jobs.
func (s *stage) startHets(left map[*record]uint64) {
	for _, attempts := range s.hets {
		if slices.ContainsFunc(attempts, func(t turn) bool { return left[t.rec] > 0 }) {
			s.startHet(attempts, left)
		}
	}
}

// startHet starts all components of a heterogeneous job or none, no two of them on one node.
func (s *stage) startHet(attempts []turn, left map[*record]uint64) {
	before := s.cloneStage()
	had := maps.Clone(left)
	s.avoided = map[int]bool{}
	defer func() { s.avoided = nil }()
	for _, t := range attempts {
		left[t.rec] -= s.startJobs(t, left[t.rec])
	}
	if slices.ContainsFunc(attempts, func(t turn) bool { return left[t.rec] > 0 }) {
		*s = before
		maps.Copy(left, had)
	}
}

// clone returns a copy of the run.
func (s *stage) cloneStage() stage {
	out := *s
	out.free = make([]amounts, len(s.free))
	for i := range s.free {
		out.free[i] = slices.Clone(s.free[i])
	}
	out.inPart = make([]map[int]uint64, len(s.inPart))
	for i := range s.inPart {
		out.inPart[i] = maps.Clone(s.inPart[i])
	}
	out.empty, out.first = slices.Clone(s.empty), slices.Clone(s.first)
	out.alike, out.started = slices.Clone(s.alike), maps.Clone(s.started)
	return out
}

// takeNodes starts a job on the selected nodes.
func (s *stage) takeNodes(c *choice) {
	for _, on := range c.taken {
		i := on.seat
		if s.first[i] < 0 {
			s.first[i] = c.part
		}
		s.empty[i] = false
		if s.avoided != nil {
			s.avoided[i] = true
		}
		if c.r.alike {
			s.alike[i] = c.r
		}
		if s.parts[c.part].maxCPUs > 0 {
			if s.inPart[i] == nil {
				s.inPart[i] = map[int]uint64{}
			}
			s.inPart[i][c.part] += on.amounts[amountCPUs]
		}
		for k, x := range on.amounts {
			s.free[i][k] = less(s.free[i][k], x)
		}
	}
}

// isUp reports whether the node exists in the run.
func (s *stage) isThere(i int) bool {
	n := &s.seats[i]
	if s.gone[i] || !s.later && !n.ready() {
		return false
	}
	return n.fresh == 0 || n.fresh <= s.up[s.shapes[n.shape].pool]
}

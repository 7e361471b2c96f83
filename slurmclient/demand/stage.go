package demand

import (
	"maps"
	"slices"
)

// stage is the seats during one run of a rehearsal.
type stage struct {
	*rehearsal
	cast
	// later is whether what boots and what is new is there as well.
	later bool
	// of each seat: what is free, whether nobody has it, whose jobs have it to themselves,
	// what the partitions' jobs have of its CPUs where that is limited, and the partition of
	// the first job on it, -1 for none.
	free   []amounts
	empty  []bool
	alike  []*request
	inPart []map[int]uint64
	first  []int
	// started is how many of each request's jobs have started.
	started map[*request]uint64
	// avoided are the seats of a heterogeneous job's other components.
	avoided map[int]bool
	// kept are the seats that jobs which wait would get once others end.
	kept []bool
}

// cast is which workers there are: so many new ones of each pool, by its place, and all
// that are there but for those that have gone.
type cast struct {
	up   []uint64
	gone map[int]bool
	// hetFirst is whether heterogeneous jobs start before all others, not after them.
	hetFirst bool
}

// playQueue lets slurmctld's rules start what they can: first on the nodes that are ready, then
// on all. It returns nil when that costs too much.
func (h *rehearsal) playQueue(who cast) *stage {
	s := h.newStage(who)
	left := map[*record]uint64{}
	for _, turns := range append([][]turn{h.turns}, h.hets...) {
		for _, t := range turns {
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

// newStage returns the seats as they are before any job starts.
func (h *rehearsal) newStage(who cast) *stage {
	s := &stage{rehearsal: h, cast: who, started: map[*request]uint64{}}
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

// startJobs starts up to so many jobs of the turn, and returns how many.
func (s *stage) startJobs(t turn, jobs uint64) (started uint64) {
	for started < jobs && s.work >= 0 {
		c := choice{stage: s, r: t.r, part: t.part}
		if !c.chooseNodes() {
			break
		}
		started++
		s.takeNodes(&c)
		// The next one finds the same nodes best, as long as they have room.
		for started < jobs && c.fitsAgain() {
			started++
			s.takeNodes(&c)
		}
	}
	s.started[t.r] += started
	return started
}

// startHets starts the heterogeneous jobs that wait.
func (s *stage) startHets(left map[*record]uint64) {
	for _, turns := range s.hets {
		if slices.ContainsFunc(turns, func(t turn) bool { return left[t.rec] > 0 }) {
			s.startHet(turns, left)
		}
	}
}

// startHet starts a heterogeneous job, all of its components or none, and no two of them
// on one node.
func (s *stage) startHet(turns []turn, left map[*record]uint64) {
	before := s.cloneStage()
	had := maps.Clone(left)
	s.avoided = map[int]bool{}
	defer func() { s.avoided = nil }()
	for _, t := range turns {
		left[t.rec] -= s.startJobs(t, left[t.rec])
	}
	if slices.ContainsFunc(turns, func(t turn) bool { return left[t.rec] > 0 }) {
		*s = before
		maps.Copy(left, had)
	}
}

// cloneStage returns a copy of the stage.
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

// takeNodes puts a job where it was chosen to be.
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

// isThere reports whether the seat's worker is up.
func (s *stage) isThere(i int) bool {
	seat := &s.seats[i]
	if s.gone[i] || !s.later && !seat.ready() {
		return false
	}
	return seat.fresh == 0 || seat.fresh <= s.up[s.shapes[seat.shape].pool]
}

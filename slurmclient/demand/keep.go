package demand

import "slices"

// keepNodesFor reserves the ready nodes for a pending job that could run on existing nodes once
// other jobs end. Backfill plans the job on them, and starts no job of lower priority there that
// could end later (slurm.conf(5), sched/backfill). Time limits are not compared: a job that would
// end in time comes after the others here.
func (s *stage) keepFor(t turn) {
	if !s.runsLater(t) {
		return
	}
	if s.kept == nil {
		s.kept = make([]bool, len(s.seats))
	}
	c := choice{stage: s, r: t.r, part: t.part}
	s.work -= len(s.seats)
	for i := range s.seats {
		if c.isMember(i) && s.meets(t.r, s.seats[i].shape) &&
			!t.r.excluded[s.seats[i].name] {
			s.kept[i] = true
		}
	}
}

// canRunLater reports whether the job could run on the existing nodes if they were empty.
func (h *rehearsal) runsLater(t turn) bool {
	r := t.r
	nodes, chunks, named := uint64(0), uint64(0), 0
	h.work -= len(h.members)
	for _, i := range h.members {
		m := &h.nodes[i]
		sh := &h.shapes[m.shape]
		if !m.use.usable() || !slices.Contains(sh.parts, t.part) || !h.meets(r, m.shape) ||
			r.excluded[m.node.Name] {
			continue
		}
		n := sh.room.fits(r.each)
		if n == 0 {
			continue
		}
		nodes, chunks = nodes+1, plus(chunks, n)
		if slices.Contains(r.required, m.node.Name) {
			named++
		}
	}
	if named < len(r.required) {
		return false
	}
	if r.scattered {
		return chunks >= r.spread
	}
	return nodes >= r.spread
}

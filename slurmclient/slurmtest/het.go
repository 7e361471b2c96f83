package slurmtest

// hetJob is a heterogeneous job: components that start together.
type hetJob struct{ jobs []*job }

func (h *hetJob) leader() *job { return h.jobs[0] }

// tryHet starts all components of a heterogeneous job, or none.
func (p *pass) tryHet(h *hetJob) {
	for _, j := range h.jobs {
		if j.state().Finished() {
			continue
		}
		if v := p.c.blocker(j); v.reason != "" || !j.pending() {
			p.waitHet(h, v)
			return
		}
	}
	if v, ok := p.rehearse(h); !ok {
		p.waitHet(h, v)
		return
	}
	for _, j := range h.jobs {
		if partition, allocations, _ := p.place(j); allocations != nil && j.pending() {
			p.c.start(j, partition, allocations)
		}
	}
}

// componentsFit reports whether all components fit at once.
func (p *pass) rehearse(h *hetJob) (verdict, bool) {
	var taken []*grant
	var holders []*job
	defer func() {
		for i, g := range taken {
			g.free(holders[i])
		}
		p.free = map[*partition][]*node{}
	}()
	for _, j := range h.jobs {
		if !j.pending() {
			continue
		}
		_, allocations, v := p.place(j)
		if allocations == nil {
			// Other jobs may still fit: forget what failed beside the components.
			p.failed = map[string]verdict{}
			return v, false
		}
		for _, g := range allocations {
			g.take(j)
			taken, holders = append(taken, g), append(holders, j)
		}
	}
	return verdict{}, true
}

func (p *pass) waitHet(h *hetJob, v verdict) {
	for _, j := range h.jobs {
		if j.pending() && v.reason != "" {
			p.c.setReason(j, v)
		}
	}
}

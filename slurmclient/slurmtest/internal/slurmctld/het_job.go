package slurmctld

// hetJob is a heterogeneous job: components that start together.
type hetJob struct{ jobs []*job }

func (h *hetJob) leader() *job { return h.jobs[0] }

// tryStartHet starts all components of a heterogeneous job, or none.
func (p *schedulerPass) tryStartHet(h *hetJob) {
	for _, j := range h.jobs {
		if j.state().Finished() {
			continue
		}
		if v := p.c.blockingReason(j); v.reason != "" || !j.pending() {
			p.setHetReason(h, v)
			return
		}
	}
	if v, ok := p.componentsFit(h); !ok {
		p.setHetReason(h, v)
		return
	}
	for _, j := range h.jobs {
		if partition, allocations, _ := p.findNodes(j); allocations != nil && j.pending() {
			p.c.startJob(j, partition, allocations)
		}
	}
}

// componentsFit reports whether all components fit at once.
func (p *schedulerPass) componentsFit(h *hetJob) (pendingReason, bool) {
	var taken []*NodeAllocation
	var holders []*job
	defer func() {
		for i, g := range taken {
			g.release(holders[i])
		}
		p.freeNodes = map[*partition][]*node{}
	}()
	for _, j := range h.jobs {
		if !j.pending() {
			continue
		}
		_, allocations, v := p.findNodes(j)
		if allocations == nil {
			// Other jobs may still fit: forget what failed beside the components.
			p.failedShapes = map[string]pendingReason{}
			return v, false
		}
		for _, g := range allocations {
			g.allocate(j)
			taken, holders = append(taken, g), append(holders, j)
		}
	}
	return pendingReason{}, true
}

func (p *schedulerPass) setHetReason(h *hetJob, v pendingReason) {
	for _, j := range h.jobs {
		if j.pending() && v.reason != "" {
			p.c.setReason(j, v)
		}
	}
}
